import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import { type ConfigProblem, formatPath, type Path, type Position } from './problem.ts';

/** Remedies for mistakes that the parser names in the terms of its grammar. */
const REMEDIES: Readonly<Record<string, string>> = {
  BLOCK_AS_IMPLICIT_KEY:
    'a second "key: value" in one line: put it in a line of its own, or put quotes around a text with a colon',
  BAD_INDENT: 'the indentation does not match the lines around it',
  MISSING_CHAR: 'a quote, a bracket, a comma or a colon is missing here or in the lines before',
  DUPLICATE_KEY: 'the key is already there',
};
const BAD_ALIAS =
  'an alias has no anchor of its name before it or lies within the node that it refers to, or there are too many';

/** Parses one YAML 1.2 document, up to its first problem. Messages name keys but quote no values, which may be secrets. */
export function parseYaml(text: string) {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    merge: true,
    // Keys become names: 1 and "1" are the same one.
    uniqueKeys: (one, two) =>
      isScalar(one) && isScalar(two) && String(one.value) === String(two.value),
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

  // Later errors mostly follow from the first one.
  const [first] = [...document.errors, ...document.warnings].sort(
    (one, two) => one.pos[0] - two.pos[0],
  );
  const problems: ConfigProblem[] = [];
  let value: unknown;
  if (first !== undefined) {
    const { message, code, pos } = first;
    // The parser's own words, up to where they begin to quote the text.
    const words = message.split(/[\n;"'`:]/, 1)[0]?.trim() ?? '';
    const own = words === '' ? code : `${words} (${code})`;
    // What begins here may be a secret that the parser takes for a key.
    const isKey = code === 'DUPLICATE_KEY';
    const path = pathBefore(document, pos[0] + (isKey ? 1 : 0));
    problems.push(problem(REMEDIES[code] ?? own, pos[0], path));
  } else {
    try {
      value = document.toJS({ maxAliasCount: 100 });
      // Throws for a value inside itself, which could not be walked through.
      JSON.stringify(value);
    } catch {
      problems.push({ path: formatPath([]), message: `not valid YAML: ${BAD_ALIAS}` });
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

/**
 * Returns the path of the last key of block style that begins before an offset. What the parser
 * takes for a key in braces may be a secret that begins with one.
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
