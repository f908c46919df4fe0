/** Reading expressions: what is wrong with one, and where, is known before any record comes. */
import { compile, TYPE_EXPREF, tokenize } from '@jmespath-community/jmespath';
import { nearest } from '../../base/nearest.ts';
import { evaluator, type Node } from './evaluator.ts';
import { losesDigits } from './exact-number.ts';

/** Characters. */
const MAX_LENGTH = 4096;
/** Levels of the tree: each takes stack when it is evaluated. */
const MAX_DEPTH = 100;

export type Parsed =
  | { readonly node: Node; readonly problem?: never }
  | { readonly node?: never; readonly problem: string };

/** Never throws. */
export function parseExpression(text: string): Parsed {
  const problem = problemOfText(text);
  if (problem !== undefined) return { problem };
  try {
    const node = compile(text);
    const wrong = problemOfTree(node, MAX_DEPTH, NO_VARIABLES);
    return wrong === undefined ? { node } : { problem: wrong };
  } catch (error) {
    return { problem: whereItBreaks(text, error) };
  }
}

function problemOfText(text: string): string | undefined {
  if (text.length > MAX_LENGTH)
    return `it has ${text.length} characters; ${MAX_LENGTH} are the most`;
  for (const { kind, start, token, ended } of lexemes(text)) {
    const at = `column ${start + 1}`;
    if (!ended) return `${at}: ${kind} begins here and has no end`;
    if (token === '\\')
      return `${at}: a name with a dot, or anything but a-z A-Z 0-9 _, is put in quotes: "a.b".c instead of a\\.b.c`;
    if (kind === 'a literal' && isLossy(token.slice(1, -1))) {
      return `${at}: a number has more digits than the expression can hold; compare texts: to_string(x) == '123'`;
    }
    if (kind === 'a name with dashes') {
      const [left = '', ...rest] = token.split('-');
      return `${at}: ${token} would be ${left} minus ${rest.join(' minus ')}; put a name in quotes, "${token}", or blanks around a minus`;
    }
    if (token === '=') return `${at}: = compares nothing; write ==`;
    if (kind === 'an unknown character') {
      return `${at}: ${JSON.stringify(token)} means nothing here; a name with anything but a-z A-Z 0-9 _ is put in quotes, a text into '…'`;
    }
  }
  return undefined;
}

/** Text that is no JSON is a mistake that the library tells. */
function isLossy(literal: string): boolean {
  try {
    return losesDigits(`[${literal}]`);
  } catch {
    return false;
  }
}

interface Lexeme {
  readonly kind:
    | 'a text'
    | 'a name in quotes'
    | 'a literal'
    | 'a name with dashes'
    | 'an unknown character'
    | 'other';
  readonly start: number;
  readonly token: string;
  readonly ended: boolean;
}

/** Enough of the grammar for what the library reads without a word: ends that are missing, minus in names, = for ==. */
const LEXEME =
  /'(?:\\[\\']|\\(?![\\'])|[^'\\])*('|$)|"(?:\\.|[^"\\])*("|$)|`(?:\\[\\`]|\\(?![\\`])|[^`\\])*(`|$)|[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z_][A-Za-z0-9_]*)+|[A-Za-z_][A-Za-z0-9_]*|[<>=!]=|&&|\|\||\$[A-Za-z_][A-Za-z0-9_]*\s*=(?!=)|./gsy;
const KNOWN = /^[A-Za-z0-9_$\s()*,.:@\]{}+%?\u2212\u00d7\u00f7!<>=&|/\-[\\]/;

function* lexemes(text: string): Generator<Lexeme> {
  for (const match of text.matchAll(LEXEME)) {
    const [token, rawEnd, nameEnd, literalEnd] = match;
    const start = match.index;
    const first = token[0] ?? '';
    if (first === "'") yield { kind: 'a text', start, token, ended: rawEnd !== '' };
    else if (first === '"') yield { kind: 'a name in quotes', start, token, ended: nameEnd !== '' };
    else if (first === '`') yield { kind: 'a literal', start, token, ended: literalEnd !== '' };
    else if (/^[A-Za-z_].*-/.test(token))
      yield { kind: 'a name with dashes', start, token, ended: true };
    else
      yield {
        kind: KNOWN.test(token) ? 'other' : 'an unknown character',
        start,
        token,
        ended: true,
      };
  }
}

type Names = ReadonlySet<string>;
const NO_VARIABLES: Names = new Set();

function problemOfTree(node: Node, levels: number, variables: Names): string | undefined {
  if (levels === 0) return `it is nested deeper than ${MAX_DEPTH} levels`;
  if (node.type === 'ExpressionReference' && levels === MAX_DEPTH)
    return '& stands only before an argument of a function';
  if (node.type === 'Function') {
    const problem = problemOfCall(node);
    if (problem !== undefined) return problem;
  }
  if (node.type === 'Variable' && !variables.has(node.name))
    return `there is no variable $${node.name}: let $${node.name} = … in …`;
  if (node.type === 'Slice' && node.step === 0) return 'the step of a slice cannot be 0';
  for (const child of childrenOf(node)) {
    if (child.type === 'ExpressionReference' && node.type !== 'Function')
      return '& stands only before an argument of a function';
    if (child.type === 'Binding' && node.type !== 'LetExpression')
      return '= stands only in let $name = …; write == to compare';
    const bound =
      node.type === 'LetExpression' && child === node.expression
        ? node.bindings.map(({ variable }) => variable)
        : [];
    const problem = problemOfTree(
      child,
      levels - 1,
      bound.length === 0 ? variables : new Set([...variables, ...bound]),
    );
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function problemOfCall({
  name,
  children,
}: Extract<Node, { type: 'Function' }>): string | undefined {
  const known = evaluator.functions;
  const signature = Object.hasOwn(known, name) ? known[name]?._signature : undefined;
  if (signature === undefined) {
    const close = nearest(name, Object.keys(known));
    return `there is no function ${name}()${close === undefined ? '' : `; did you mean ${close}()?`}`;
  }
  const least = signature.filter(({ optional }) => optional !== true).length;
  const most = signature.at(-1)?.variadic === true ? Number.POSITIVE_INFINITY : signature.length;
  if (children.length < least || children.length > most) {
    const allowed =
      least === most
        ? least
        : `${least} ${most === Number.POSITIVE_INFINITY ? 'or more' : `to ${most}`}`;
    return `${name}() takes ${allowed} argument${allowed === 1 ? '' : 's'}, but has ${children.length}`;
  }
  for (const [index, child] of children.entries()) {
    if (name === 'header' && (child.type !== 'Literal' || typeof child.value !== 'string')) {
      return "header() takes a name in single quotes: header('name')";
    }
    const wanted = signature[index]?.types.includes(TYPE_EXPREF) === true;
    if (wanted && child.type !== 'ExpressionReference')
      return `argument ${index + 1} of ${name}() is an expression: write & before it`;
    if (!wanted && child.type === 'ExpressionReference')
      return `argument ${index + 1} of ${name}() is a value: leave out the &`;
  }
  return undefined;
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node).flatMap((member: unknown): Node[] => {
    if (Array.isArray(member)) return member.filter(isNode);
    return isNode(member) ? [member] : [];
  });
}

/** Literals hold values of the configuration, which may look like anything. */
function isNode(member: unknown): member is Node {
  return typeof member === 'object' && member !== null && 'type' in member;
}

/** The library says what it did not expect, but not where: the shortest beginning of the text that cannot be gone on with says it. */
function whereItBreaks(text: string, error: unknown): string {
  let starts: readonly number[];
  try {
    starts = tokenize(text).map(({ start }) => start);
  } catch (unreadable) {
    return messageOf(unreadable);
  }
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1] ?? text.length;
    const wrong = failureOf(text.slice(0, end));
    if (wrong === undefined) continue;
    const [, expected] = /expected (\w+),/.exec(wrong) ?? [];
    const instead = expected === undefined ? '' : `, but ${SYMBOLS[expected] ?? expected}`;
    return `column ${start + 1}: ${text.slice(start, end).trim()} is not expected here${instead}`;
  }
  return isEnd(error) ? `column ${text.length + 1}: it ends too early` : messageOf(error);
}

/** The library's names of what it may expect. */
const SYMBOLS: Readonly<Record<string, string>> = {
  Rparen: ')',
  Rbracket: ']',
  Colon: ':',
  Star: '*',
  Comma: ',',
};

/** Why this is no beginning of an expression; undefined when it is one. */
function failureOf(beginning: string): string | undefined {
  try {
    compile(beginning);
    return undefined;
  } catch (error) {
    return isEnd(error) ? undefined : messageOf(error);
  }
}

/** Past the last token the library trips over its own feet. */
function isEnd(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof Error && /\bEOF\b/i.test(error.message));
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error) || error instanceof RangeError) return 'it cannot be read';
  return error.message.replace(/^syntax(?: error)?[:,]? /i, '');
}
