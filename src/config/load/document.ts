import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Path, Position } from './path.ts';
import type { ConfigProblem } from './problem.ts';

export interface ParsedDocument {
  readonly value: unknown;
  readonly problems: readonly ConfigProblem[];
  /** Position of an option; for one that is not written, of the closest one around it. */
  locate(path: Path): Position | undefined;
}

/** Parses one YAML 1.2 document. Messages never quote the text, which may hold a secret. */
export function parseYaml(text: string): ParsedDocument {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    merge: true,
    logLevel: 'error',
  });
  const position = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const problem = (message: string, offset = 0): ConfigProblem => ({
    path: '(top level)',
    message: `not valid YAML: ${message}`,
    ...position(offset),
  });

  const problems = [...document.errors, ...document.warnings].map(({ message, code, pos }) => {
    // The parser's own words, up to where they begin to quote the text.
    const words = message.split(/[\n;"'`:]/, 1)[0]?.trim() ?? '';
    return problem(words === '' ? code : `${words} (${code})`, pos[0]);
  });
  let value: unknown;
  if (problems.length === 0) {
    try {
      value = document.toJS({ maxAliasCount: 100 });
      // Throws for a value inside itself, which could not be walked through.
      JSON.stringify(value);
    } catch {
      problems.push(
        problem('an unknown alias, too many aliases, or an alias within the node it refers to'),
      );
    }
  }
  return {
    value,
    problems,
    locate(path) {
      let node = document.contents as Node | null;
      let offset = node?.range?.[0];
      for (const step of path) {
        if (isAlias(node)) node = node.resolve(document) ?? null;
        let next: { readonly key: unknown; readonly value: unknown } | undefined;
        if (isMap(node))
          next = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step));
        else if (isSeq(node))
          next = { key: node.items[Number(step)], value: node.items[Number(step)] };
        if (next === undefined) break;
        offset = (next.key as Node | undefined)?.range?.[0] ?? offset;
        node = (next.value as Node | undefined) ?? null;
      }
      return offset === undefined ? undefined : position(offset);
    },
  };
}
