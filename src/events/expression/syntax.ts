/** Parser of expressions. Reports mistakes with their position before any record is read. */
import { compile, tokenize } from '@jmespath-community/jmespath';
import { err, ok, type Result } from '../../../packages/client/src/base/result.ts';
import { evaluator, type Node } from './evaluator.ts';

/** Maximum length in characters. */
const MAX_LENGTH = 4096;
/** Maximum depth of the syntax tree. Evaluating each level takes stack space. */
const MAX_DEPTH = 100;
const TOO_DEEP = `it is nested deeper than ${MAX_DEPTH} levels`;

/** Parses an expression. Never throws. */
export function parseExpression(text: string): Result<Node> {
  if (text.length > MAX_LENGTH)
    return err(`it has ${text.length} characters, more than the ${MAX_LENGTH} allowed`);
  const error = failureOf(text);
  if (error instanceof RangeError) return err(TOO_DEEP);
  if (error !== undefined) return err(whereItBreaks(text, error));
  const node = compile(text);
  const problem = problemOfTokens(text) ?? problemOfTree(node, MAX_DEPTH);
  return problem === undefined ? ok(node) : err(problem);
}

function failureOf(text: string): Error | undefined {
  try {
    compile(text);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Returns the position of a mistake, which the library does not report: the end of the longest valid prefix. */
function whereItBreaks(text: string, error: Error): string {
  if (isEnd(error)) return `column ${text.length + 1}: it ends too early`;
  let end = text.length;
  for (let failure: Error | undefined = error; failure !== undefined && !isEnd(failure); )
    failure = failureOf(text.slice(0, --end));
  const message = error.message.replace(/^syntax(?: error)?[:,]? /i, '');
  return `column ${end + 1}: ${message}`;
}

/** Returns true if the expression ends too early. Past the last token, the library may fail with a TypeError. */
function isEnd(error: Error): boolean {
  return error instanceof TypeError || /\bEOF\b/i.test(error.message);
}

/** Tokens of language extensions that are not supported. */
const REFUSED: Readonly<Record<string, string>> = {
  Assign: '= does not compare; write ==',
  Variable: 'variables are not supported',
  Minus: 'arithmetic is not supported; put a name with a dash in quotes, "user-id"',
  ...Object.fromEntries(
    ['Plus', 'Multiply', 'Divide', 'Div', 'Modulo'].map((type) => [
      type,
      'arithmetic is not supported',
    ]),
  ),
};

function problemOfTokens(text: string): string | undefined {
  const token = tokenize(text).find(({ type }) => Object.hasOwn(REFUSED, type));
  return token && `column ${token.start + 1}: ${REFUSED[token.type]}`;
}

function problemOfTree(node: Node, levels: number): string | undefined {
  if (levels === 0) return TOO_DEEP;
  switch (node.type) {
    case 'Literal':
      return undefined;
    case 'Arithmetic':
      return 'arithmetic is not supported';
    case 'ExpressionReference':
      return 'expression references (&) are not supported';
    case 'Slice':
      if (node.step === 0) return 'the step of a slice cannot be 0';
      break;
    case 'Function': {
      const problem = problemOfCall(node);
      if (problem !== undefined) return problem;
    }
  }
  for (const child of Object.values(node).flat().filter(isNode)) {
    const problem = problemOfTree(child, levels - 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function isNode(member: unknown): member is Node {
  return typeof member === 'object' && member !== null && 'type' in member;
}

function problemOfCall({
  name,
  children,
}: Extract<Node, { type: 'Function' }>): string | undefined {
  const known = evaluator.functions;
  const signature = Object.hasOwn(known, name) ? known[name]?._signature : undefined;
  if (signature === undefined) {
    return `there is no function ${name}(); see the functions of JMESPath`;
  }
  const isEndless = signature.at(-1)?.variadic === true;
  const { length } = children;
  if (length < signature.length || (length > signature.length && !isEndless))
    return `${name}() takes ${signature.length}${isEndless ? ' or more' : ''} arguments, but has ${length}`;
  return name === 'header' && children[0]?.type !== 'Literal'
    ? "header() takes a name in single quotes: header('name')"
    : undefined;
}
