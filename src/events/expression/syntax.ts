/** Parser of expressions: reports mistakes, with their place, before any record comes. */
import { compile, TYPE_EXPREF, tokenize } from '@jmespath-community/jmespath';
import { parseJson, parseKeepingDigits } from '../../base/json/parse-json.ts';
import { nearest } from '../../base/nearest.ts';
import { err, ok, type Result } from '../../base/result.ts';
import { evaluator, type Node } from './evaluator.ts';
import { asDouble } from './exact-number.ts';

/** Characters. */
const MAX_LENGTH = 4096;
/** Levels of the tree: each takes stack when it is evaluated. */
const MAX_DEPTH = 100;
const TOO_DEEP = `it is nested deeper than ${MAX_DEPTH} levels`;

/** Never throws. */
export function parseExpression(text: string): Result<Node> {
  const mistake = mistakeIn(text);
  if (mistake !== undefined) return err(mistake);
  try {
    const node = compile(text);
    const problem = problemOfTree(node, MAX_DEPTH, new Set());
    return problem === undefined ? ok(node) : err(problem);
  } catch (error) {
    return err(whereItBreaks(text, error));
  }
}

/** Texts, names in quotes and literals; no text fits two branches, which bounds the backtracking. */
const QUOTED =
  /'(?:\\[\\']|\\(?![\\'])|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\[\\`]|\\(?![\\`])|[^`\\])*`/gs;

/** A quoted part, or a number right after a comparison. */
const COMPARED_NUMBER = new RegExp(
  `${QUOTED.source}|([=!<>]\\s*)(-?\\d+(?:\\.\\d+)?)(?![\\w.])`,
  'gs',
);

/** Returns an expression with the backticks that JMESPath requires around a compared number: x == `42`. */
export function withQuotedNumbers(text: string): string {
  return text.replace(COMPARED_NUMBER, (all, before?: string, number?: string) =>
    before === undefined ? all : `${before}\`${number}\``,
  );
}

const KINDS: Readonly<Record<string, string>> = {
  "'": 'a text',
  '"': 'a name in quotes',
  '`': 'a literal',
};

/** Mistakes that the library reads without an error, outside of quotes. */
const MISTAKES: readonly (readonly [RegExp, (found: string) => string])[] = [
  [/['"`]/, (quote) => `${KINDS[quote]} begins here and has no end`],
  [
    /\\/,
    () =>
      'a name with a dot, or anything but a-z A-Z 0-9 _, is put in quotes: "a.b".c instead of a\\.b.c',
  ],
  [
    /[A-Za-z_]\w*(?:-[A-Za-z_]\w*)+/,
    (name) =>
      `${name} would be ${name.split('-').join(' minus ')}; put a name in quotes, "${name}", or blanks around a minus`,
  ],
  [/(?<![<>=!]|\$\w+\s*)=(?!=)/, () => '= compares nothing; write =='],
  [
    /[^\w$\s()*,.:@\]{}+%?\u2212\u00d7\u00f7!<>=&|/\-[\\'"`]/u,
    (character) =>
      `${JSON.stringify(character)} is not allowed here; a name with anything but a-z A-Z 0-9 _ is put in quotes, a text into '…'`,
  ],
];

function mistakeIn(text: string): string | undefined {
  if (text.length > MAX_LENGTH)
    return `it has ${text.length} characters; ${MAX_LENGTH} are the most`;

  const bare = text.replace(QUOTED, (quoted) => ' '.repeat(quoted.length));
  const found = MISTAKES.flatMap(([pattern, explain]) => {
    const match = pattern.exec(bare);
    return match === null ? [] : [{ at: match.index, message: explain(match[0]) }];
  });
  for (const { 0: quoted, index: at } of text.matchAll(QUOTED)) {
    if (!quoted.startsWith('`') || !isLossy(quoted.slice(1, -1))) continue;
    const message =
      "a number has more digits than the expression can hold; compare texts: to_string(x) == '123'";
    found.push({ at, message });
  }
  const [first] = found.sort((one, two) => one.at - two.at);
  return first && `column ${first.at + 1}: ${first.message}`;
}

/** Text that is not JSON is a mistake that the library reports. */
function isLossy(literal: string): boolean {
  try {
    const exact = JSON.stringify(parseKeepingDigits(literal), (_name, value) => asDouble(value));
    return exact !== JSON.stringify(parseJson(literal));
  } catch {
    return false;
  }
}

function problemOfTree(
  node: Node,
  levels: number,
  variables: ReadonlySet<string>,
): string | undefined {
  if (levels === 0) return TOO_DEEP;
  if (node.type === 'ExpressionReference' && levels === MAX_DEPTH) return LONE_REFERENCE;
  if (node.type === 'Function') {
    const problem = problemOfCall(node);
    if (problem !== undefined) return problem;
  }
  if (node.type === 'Variable' && !variables.has(node.name))
    return `there is no variable $${node.name}: let $${node.name} = … in …`;
  if (node.type === 'Slice' && node.step === 0) return 'the step of a slice cannot be 0';

  for (const child of childrenOf(node)) {
    if (child.type === 'ExpressionReference' && node.type !== 'Function') return LONE_REFERENCE;
    const inLet = node.type === 'LetExpression';
    if (child.type === 'Binding' && !inLet)
      return '= stands only in let $name = …; write == to compare';
    const bound = inLet && child === node.expression ? node.bindings : [];
    const names = new Set([...variables, ...bound.map(({ variable }) => variable)]);
    const problem = problemOfTree(child, levels - 1, names);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const LONE_REFERENCE = '& stands only before an argument of a function';

function problemOfCall({
  name,
  children,
}: Extract<Node, { type: 'Function' }>): string | undefined {
  const known = evaluator.functions;
  const signature = Object.hasOwn(known, name) ? known[name]?._signature : undefined;
  if (signature === undefined) {
    const close = nearest(name, Object.keys(known));
    const hint = close === undefined ? '' : `; did you mean ${close}()?`;
    return `there is no function ${name}()${hint}`;
  }

  const least = signature.filter(({ optional }) => optional !== true).length;
  const endless = signature.at(-1)?.variadic === true;
  if (children.length < least || (children.length > signature.length && !endless)) {
    const range = endless
      ? ' or more'
      : least === signature.length
        ? ''
        : ` to ${signature.length}`;
    const noun = least === 1 && range === '' ? 'argument' : 'arguments';
    return `${name}() takes ${least}${range} ${noun}, but has ${children.length}`;
  }

  for (const [index, child] of children.entries()) {
    if (name === 'header' && (child.type !== 'Literal' || typeof child.value !== 'string'))
      return "header() takes a name in single quotes: header('name')";
    const wanted = signature[index]?.types.includes(TYPE_EXPREF) === true;
    if (wanted === (child.type === 'ExpressionReference')) continue;
    const remedy = wanted ? 'an expression: write & before it' : 'a value: leave out the &';
    return `argument ${index + 1} of ${name}() is ${remedy}`;
  }
  return undefined;
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flat().filter(isNode);
}

/** Literals hold values of the configuration, which may look like anything. */
function isNode(member: unknown): member is Node {
  return typeof member === 'object' && member !== null && 'type' in member;
}

/** The library does not report a place: the shortest beginning that cannot be continued has it. */
function whereItBreaks(text: string, error: unknown): string {
  if (isEnd(error)) return `column ${text.length + 1}: it ends too early`;
  if (error instanceof RangeError) return TOO_DEEP;
  let starts: readonly number[];
  try {
    starts = tokenize(text).map(({ start }) => start);
  } catch (unreadable) {
    return messageOf(unreadable);
  }
  // What cannot be continued after some tokens cannot be after more: each attempt halves them.
  let [good, bad] = [0, starts.length];
  let wrong = error;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    const failure = failureOf(text.slice(0, starts[middle]));
    if (failure === undefined) good = middle;
    else [bad, wrong] = [middle, failure];
  }
  const [start = 0, end = text.length] = starts.slice(bad - 1, bad + 1);
  const [, expected = ''] = /expected (\w+),/.exec(messageOf(wrong)) ?? [];
  const instead = expected === '' ? '' : `, but ${SYMBOLS[expected] ?? expected}`;
  return `column ${start + 1}: ${text.slice(start, end).trim()} is not expected here${instead}`;
}

/** Names that the library has for tokens it expects. */
const SYMBOLS: Readonly<Record<string, string>> = {
  Rparen: ')',
  Rbracket: ']',
  Colon: ':',
  Star: '*',
  Comma: ',',
};

/** @returns the reason why this is no beginning of an expression, undefined when it is one */
function failureOf(beginning: string): unknown {
  try {
    compile(beginning);
  } catch (error) {
    if (!isEnd(error)) return error;
  }
  return undefined;
}

/** Past the last token the library fails with a TypeError of its own. */
function isEnd(error: unknown): boolean {
  return error instanceof TypeError || /\bEOF\b/i.test((error as Error).message);
}

function messageOf(error: unknown): string {
  return (error as Error).message.replace(/^syntax(?: error)?[:,]? /i, '');
}
