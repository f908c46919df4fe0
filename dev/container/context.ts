/**
 * Build context of a checkout: .dockerignore, by the rules of
 * https://docs.docker.com/build/concepts/context/#dockerignore-files.
 */

interface Rule {
  readonly path: RegExp;
  /** Lets through what an earlier rule leaves out. */
  readonly lets: boolean;
  readonly text: string;
}

export class BuildContext {
  readonly #rules: readonly Rule[];

  /** @param dockerignore the file's text */
  constructor(dockerignore: string) {
    this.#rules = dockerignore
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const text = line.replace(/^!/, '').replace(/^\/|\/$/g, '');
        return { path: pattern(text), lets: line.startsWith('!'), text };
      });
  }

  /** True if a file is part of it. @param file its path from the root, with slashes */
  has(file: string): boolean {
    const parts = file.split('/');
    const paths = parts.map((_, at) => parts.slice(0, at + 1).join('/'));
    // The last rule that says something about the file, or about a folder that it is in, holds.
    return this.#rules.findLast(({ path }) => paths.some((one) => path.test(one)))?.lets ?? true;
  }

  /** True if it, or something in it, may be part of the context. @param name of a file or folder */
  mayHave(name: string): boolean {
    return (
      this.has(name) || this.#rules.some(({ lets, text }) => lets && text.startsWith(`${name}/`))
    );
  }
}

/** `*` and `?` stay within a name, `**` does not. */
function pattern(text: string): RegExp {
  const source = text.replace(/\*\*\/?|[*?]|[^\w/-]/g, (found) => {
    if (found === '*') return '[^/]*';
    if (found === '?') return '[^/]';
    return found.startsWith('**') ? '.*' : `\\${found}`;
  });
  return new RegExp(`^${source}$`, 's');
}
