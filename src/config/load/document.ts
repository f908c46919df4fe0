import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLError,
} from 'yaml';
import type { Path } from './path.ts';

/** Line and column, from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface SyntaxProblem extends Position {
  readonly message: string;
}

export interface ParsedDocument {
  readonly value: unknown;
  readonly problems: readonly SyntaxProblem[];
  /** Where the option is written; for one that is not, the closest one around it. */
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
  const problems: SyntaxProblem[] = [...document.errors, ...document.warnings].map((error) => ({
    message: `not valid YAML: ${explain(error)}`,
    ...position(error.pos[0]),
  }));
  let value: unknown;
  if (problems.length === 0) {
    try {
      value = document.toJS({ maxAliasCount: 100 });
      if (holdsItself(value))
        problems.push({
          message: 'not valid YAML: an alias within what it stands for',
          line: 1,
          column: 1,
        });
    } catch {
      problems.push({
        message: 'not valid YAML: an alias that is unknown, or too many of them',
        line: 1,
        column: 1,
      });
    }
  }
  return {
    value,
    problems,
    locate: (path) => {
      const offset = offsetOf(document.contents as Node | null, path, document);
      return offset === undefined ? undefined : position(offset);
    },
  };
}

/** Whether something is inside itself. Whoever walks through it would never end. */
function holdsItself(value: unknown, around: readonly object[] = []): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (
    around.includes(value) ||
    Object.values(value).some((entry) => holdsItself(entry, [...around, value]))
  );
}

/** The parser's own words, up to where they begin to quote the text. */
function explain(error: YAMLError): string {
  const words = error.message.split(/[\n;"'`:]/, 1)[0]?.trim() ?? '';
  return words === '' ? error.code : `${words} (${error.code})`;
}

function offsetOf(
  top: Node | null,
  path: Path,
  document: ReturnType<typeof parseDocument>,
): number | undefined {
  let node = top;
  let offset = node?.range?.[0];
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document) ?? null;
    if (isMap(node)) {
      const pair = node.items.find(
        ({ key }) => isScalar(key) && String(key.value) === String(step),
      );
      if (pair === undefined) return offset;
      offset = (pair.key as Node).range?.[0] ?? offset;
      node = pair.value as Node | null;
    } else if (isSeq(node)) {
      node = (node.items[Number(step)] as Node | undefined) ?? null;
      offset = node?.range?.[0] ?? offset;
    } else {
      return offset;
    }
  }
  return offset;
}
