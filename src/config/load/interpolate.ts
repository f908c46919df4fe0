/**
 * Replaces `${NAME}` and `${NAME:-default}` in string values by environment variables. This happens
 * after YAML has been parsed, so that a variable's value stays one string and cannot add or change
 * options. `$${` stands for a literal `${`.
 */
import type { Path } from './problem.ts';

export interface Interpolated {
  readonly value: unknown;
  /** Original strings of the values with variables, by path, for error messages. */
  readonly templates: ReadonlyMap<string, string>;
  readonly problems: readonly { readonly path: Path; readonly message: string }[];
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

const MALFORMED = `not a reference to a variable: write \${NAME} or \${NAME:-default}, or $\${ for a literal \${`;

/**
 * Replaces the references in one string. Returns a problem for a missing or empty variable, or a
 * malformed reference.
 */
export function interpolateText(
  text: string,
  env: NodeJS.ProcessEnv,
): { readonly text: string } | { readonly problem: string } {
  let problem: string | undefined;
  // No reference ends after the last brace. Without this cut, each malformed reference would need a
  // search of the whole string.
  const closed = text.lastIndexOf('}') + 1;
  const filled = text
    .slice(0, closed)
    .replace(REFERENCE, (match: string, name: string | undefined, fallback: string | undefined) => {
      if (match === '$${') return '${';
      if (name === undefined) {
        problem ??= MALFORMED;
        return match;
      }
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      if (value !== undefined && value !== '') return value;
      // As in a shell, the default also replaces an empty value.
      if (fallback === undefined)
        problem ??= `the environment variable ${name} is ${value === '' ? 'empty' : 'not set'}; set it, or write \${${name}:-default}`;
      return fallback ?? match;
    });
  const rest = text.slice(closed).split('$${');
  if (rest.some((part) => part.includes('${'))) problem ??= MALFORMED;
  return problem === undefined ? { text: filled + rest.join('${') } : { problem };
}

/** Replaces references in the string values of a document, not in keys. A value with a problem becomes undefined. */
export function interpolate(document: unknown, env: NodeJS.ProcessEnv): Interpolated {
  const templates = new Map<string, string>();
  const problems: { path: Path; message: string }[] = [];
  const walk = (value: unknown, path: Path): unknown => {
    if (typeof value === 'string') {
      const result = interpolateText(value, env);
      if ('problem' in result) {
        problems.push({ path, message: result.problem });
        return undefined;
      }
      if (result.text !== value) templates.set(JSON.stringify(path), value);
      return result.text;
    }
    if (Array.isArray(value)) return value.map((entry, index) => walk(entry, [...path, index]));
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, entry]) => [key, walk(entry, [...path, key])]),
      );
    }
    return value;
  };
  return { value: walk(document, []), templates, problems };
}
