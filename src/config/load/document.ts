import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml';
import { type ConfigProblem, formatPath, type Path, type Position } from './problem.ts';

/** Maximum number of aliases. It is limited because the parser searches the document for each alias. */
const MAX_ALIASES = 200;

/** Remedies for mistakes that the parser would describe in terms of YAML's grammar. */
const REMEDIES: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY:
    'a second "key: value" on one line: put it on a line of its own, or put quotes around a string that contains a colon',
  BAD_INDENT: 'the indentation does not match the lines around it',
  MISSING_CHAR: 'a quote, a bracket, a comma or a colon is missing here or in the lines before',
};

/** Parses one YAML 1.2 document, up to its first problem. Messages contain keys but no values, which may be secrets. */
export function parseYaml(text: string) {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    merge: true,
    // Checked below, because the parser would compare every pair of keys.
    uniqueKeys: false,
    logLevel: 'error',
  });
  const position = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  const problem = (message: string, offset: number, path: Path): ConfigProblem => ({
    path: formatPath(path),
    message: `not valid YAML: ${message}`,
    ...position(offset),
  });

  const errors = [...document.errors, ...document.warnings].map(({ message, code, pos }) => {
    // Cuts the parser's message before it quotes the text.
    const words = message.split(/[\n;"'`:]/, 1)[0]?.trim() ?? '';
    const own = words === '' ? code : `${words} (${code})`;
    // The text from here on may be a secret that the parser mistook for a key.
    return { at: pos[0], before: pos[0], message: REMEDIES[code] ?? own };
  });
  let aliases = 0;
  const keys = new Map<YAMLMap, ReadonlyMap<string, Pair>>();
  visit(document, {
    Alias(_, alias) {
      const at = alias.range?.[0] ?? 0;
      if (++aliases === MAX_ALIASES + 1)
        errors.push({ at, before: at, message: `there are more than ${MAX_ALIASES} aliases` });
      else if (aliases <= MAX_ALIASES && alias.resolve(document) === undefined)
        errors.push({
          at,
          before: at,
          message: 'an alias without a preceding anchor of the same name',
        });
    },
    Map(_, map) {
      const known = new Map<string, Pair>();
      for (const pair of map.items) {
        if (!isScalar(pair.key)) continue;
        const key = String(pair.key.value);
        const at = pair.key.range?.[0] ?? 0;
        if (known.has(key)) errors.push({ at, before: at + 1, message: 'duplicate key' });
        known.set(key, pair);
      }
      keys.set(map, known);
    },
  });
  // Later errors usually follow from the first one, so only that is reported.
  const [first] = errors.sort((one, two) => one.at - two.at);
  const problems =
    first === undefined
      ? []
      : [problem(first.message, first.at, pathBefore(document, first.before))];
  let value: unknown;
  if (problems.length === 0) {
    try {
      value = document.toJS({ maxAliasCount: 100 });
      // Throws for a value that contains itself, because it could not be traversed.
      JSON.stringify(value);
    } catch {
      problems.push(problem('too many aliases, or an alias within the node it refers to', 0, []));
    }
  }
  return {
    value,
    problems,
    /** Returns the position of an option or, if it is absent, of the closest option that contains it. */
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

/**
 * Returns the path of the last block-style key that begins before an offset. Keys in braces do not
 * count, because the parser may have mistaken a secret that begins with a brace for a mapping.
 */
function pathBefore(document: Document, offset: number): Path {
  let nodes: readonly unknown[] = [];
  visit(document, {
    Pair(_, pair, ancestors) {
      const isInBraces = ancestors.some((one) => isMap(one) && one.flow === true);
      if (isScalar(pair.key) && !isInBraces && (pair.key.range?.[0] ?? 0) < offset)
        nodes = [...ancestors, pair];
    },
  });
  return nodes.flatMap((node, index): Path => {
    if (isPair(node)) return isScalar(node.key) ? [String(node.key.value)] : [];
    return isSeq(node) ? [node.items.indexOf(nodes[index + 1])] : [];
  });
}
