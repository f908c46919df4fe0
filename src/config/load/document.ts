import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import type { ConfigProblem, Path, Position } from './problem.ts';

/** The parser looks through the document for each of them. */
const MAX_ALIASES = 200;

/** Parses one YAML 1.2 document, up to its first problem. Messages never quote the text, which may hold a secret. */
export function parseYaml(text: string) {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    merge: true,
    // The parser compares each key with each other one.
    uniqueKeys: false,
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

  const errors = [...document.errors, ...document.warnings].map(({ message, code, pos }) => {
    // The parser's own words, up to where they begin to quote the text.
    const words = message.split(/[\n;"'`:]/, 1)[0]?.trim() ?? '';
    return { at: pos[0], message: words === '' ? code : `${words} (${code})` };
  });
  let aliases = 0;
  const keys = new Map<YAMLMap, ReadonlyMap<string, Pair>>();
  visit(document, {
    Alias(_, { range }) {
      if (++aliases === MAX_ALIASES + 1)
        errors.push({ at: range?.[0] ?? 0, message: `There are more than ${MAX_ALIASES} aliases` });
    },
    Map(_, map) {
      const known = new Map<string, Pair>();
      for (const pair of map.items) {
        if (!isScalar(pair.key)) continue;
        const key = String(pair.key.value);
        if (known.has(key))
          errors.push({ at: pair.key.range?.[0] ?? 0, message: 'Map keys must be unique' });
        known.set(key, pair);
      }
      keys.set(map, known);
    },
  });
  // Those behind the first one mostly follow from it.
  const [first] = errors.sort((one, two) => one.at - two.at);
  const problems = first === undefined ? [] : [problem(first.message, first.at)];
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
    /** Position of an option; for one that is not written, of the closest one around it. */
    locate(path: Path): Position | undefined {
      let node = document.contents as Node | null;
      let offset = node?.range?.[0];
      for (const step of path) {
        if (isAlias(node)) node = node.resolve(document) ?? null;
        let next: { readonly key: unknown; readonly value: unknown } | undefined;
        if (isMap(node)) next = keys.get(node)?.get(String(step));
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
