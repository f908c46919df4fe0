/**
 * JMESPath evaluator of the library, made safe for hostile records: inherited members are not
 * visible, numbers keep their digits, and every evaluation ends. The library
 * walks the tree through `visit` and `callFunction`: both are overridden (docs/mapping.md).
 */
import { type FunctionSignature, TreeInterpreter, TYPE_STRING } from '@jmespath-community/jmespath';
import { isObject } from '../../base/json/is-object.ts';
import { digitsOf, isKeptNumber } from '../../base/json/kept-number.ts';

import { asDouble, compareNumbers, isSame } from './exact-number.ts';
import { RECORD_FUNCTIONS, replacements } from './functions.ts';
import { EvaluationProblem, type EventInput } from './input.ts';

const Interpreter = TreeInterpreter.constructor as new () => typeof TreeInterpreter;
export type Node = Parameters<typeof TreeInterpreter.search>[0];
type Given = Parameters<typeof TreeInterpreter.visit>[1];
type Found = ReturnType<typeof TreeInterpreter.visit>;

/** Budget of a record, in nodes visited and entries handled: about a fifth of a second. */
const MAX_STEPS = 2_000_000;
/** Cost of a member of an object: names are hashed, and large objects are slow. */
const STEPS_A_MEMBER = 8;
/** Functions that sort the entries of a list, or make members of them: each costs as much. */
const SORTS = /^(?:sort|max|min|from_items|group_by)/;
/** Functions that look for one text in another: at worst the lengths multiplied. */
const SEARCHES = /^(?:contains|find_first|find_last|replace|split)$/;
/** The ones among them that take it apart. */
const SPLITS = /^(?:replace|split)$/;
const COMPARISONS_A_STEP = 256;
/** Characters that cost a step: in native code, and when each becomes a value of its own. */
const CHARACTERS_A_STEP = 16;
const SPLIT_CHARACTERS_A_STEP = 4;

/** Functions to which a number that no double holds is a value; the others would calculate with it. */
const TAKE_EVERY_NUMBER =
  /^(?:contains|from_items|group_by|items|keys|length|map|m.._by|merge|not_null|reverse|sort_by|to_.*|type|values|zip)$/;
/** The ones among them to which it is not an object. */
const TAKE_OBJECTS = /^(?:items|keys|length|merge|values)$/;

class Evaluator extends Interpreter {
  #input: EventInput | undefined;
  /** Variables of the `let` around the node, by name. */
  #variables: ReadonlyMap<string, Found> = new Map();

  constructor() {
    super();
    const { runtime } = this;
    const table = runtime._functionTable;
    const visit = (reference: unknown, value: unknown) =>
      this.visit(reference as Node, value as Given);
    for (const [name, run] of Object.entries(replacements(visit, this.#compare)))
      Object.assign(table[name] as object, { _func: run });
    for (const [name, find] of Object.entries(RECORD_FUNCTIONS)) {
      const run = ([argument]: readonly unknown[]) =>
        find(this.#input ?? fail('there is no record'), argument as string);
      runtime.register(name, run, name === 'header' ? [{ types: [TYPE_STRING] }] : []);
    }

    const call = runtime.callFunction.bind(runtime);
    runtime.callFunction = (name, args) => {
      const given = TAKE_EVERY_NUMBER.test(name) ? args : (args.map(calculable) as typeof args);
      for (const argument of given) this.#handle(name, argument);
      const [where, what] = given as readonly unknown[];
      if (SEARCHES.test(name) && typeof where === 'string' && typeof what === 'string') {
        this.#spend(Math.ceil((where.length * what.length) / COMPARISONS_A_STEP));
        if (SPLITS.test(name)) this.#afford(partsOf(where, what));
      }
      if (name === 'header') this.#spend(this.#input?.record.headers.length ?? 0);
      const result = call(name, given);
      this.#spend(sizeOf(result, CHARACTERS_A_STEP));
      return finite(result);
    };
  }

  get functions(): Readonly<Record<string, FunctionSignature>> {
    return this.runtime._functionTable;
  }

  /** @throws EvaluationProblem */
  evaluate(node: Node, input: EventInput): unknown {
    this.#input = input;
    this.#variables = new Map();
    try {
      return this.search(node, input.document() as never);
    } catch (error) {
      throw problemOf(error);
    } finally {
      this.#input = undefined;
    }
  }

  override visit(node: Node, value: Given): Found {
    this.#spend(1);
    switch (node.type) {
      case 'Field':
        return fieldOf(value, node.name) as Found;
      case 'LetExpression': {
        const outer = this.#variables;
        const variables = new Map(outer);
        for (const { variable, reference } of node.bindings)
          variables.set(variable, this.visit(reference, value));
        this.#variables = variables;
        const result = this.visit(node.expression, value);
        this.#variables = outer;
        return result;
      }
      case 'Variable':
        return this.#variables.get(node.name) ?? null;
      case 'ValueProjection': {
        const base = this.visit(node.left, value);
        return super.visit({ ...node, left: literal(isKeptNumber(base) ? null : base) }, value);
      }
      case 'MultiSelectHash':
        return Object.fromEntries(
          node.children.map((child) => [child.name, this.visit(child.value, value)]),
        ) as Found;
      case 'Comparator': {
        const [one, two] = [this.visit(node.left, value), this.visit(node.right, value)];
        if (node.name === 'EQ') return isSame(one, two, this.#compare);
        if (node.name === 'NE') return !isSame(one, two, this.#compare);
        this.#compare(one, two);
        const order = compareNumbers(one, two);
        if (order === undefined) return null;
        return super.visit({ ...node, left: literal(order), right: literal(0) }, null);
      }
      case 'Arithmetic': {
        const [left, right] = [this.#operand(node.left, value), this.#operand(node.right, value)];
        return finite(super.visit({ ...node, left, right }, null));
      }
      case 'Unary':
        return super.visit({ ...node, operand: this.#operand(node.operand, value) }, null);
      case 'Slice':
        this.#spend(sizeOf(value, SPLIT_CHARACTERS_A_STEP));
        return super.visit(node, value);
      case 'Flatten': {
        const base = this.visit(node.child, value);
        if (Array.isArray(base)) this.#spend(flatLength(base));
        return super.visit({ ...node, child: literal(base) }, value);
      }
      default:
        return super.visit(node, value);
    }
  }

  /** A number to calculate with, as a node. */
  #operand(node: Node, value: Given): Node {
    const operand = asDouble(this.visit(node, value));
    if (isKeptNumber(operand)) fail('a number has more digits than can be calculated with');
    return literal(operand);
  }

  readonly #compare = (one: unknown, two: unknown): void => {
    // The entries of lists are compared one by one.
    this.#spend(1);
    if (!Array.isArray(one))
      this.#spend(Math.min(sizeOf(one, CHARACTERS_A_STEP), sizeOf(two, CHARACTERS_A_STEP)));
  };

  #handle(name: string, argument: unknown): void {
    const split = name === 'length' || name === 'reverse';
    this.#spend(sizeOf(argument, split ? SPLIT_CHARACTERS_A_STEP : CHARACTERS_A_STEP));
    if (Array.isArray(argument) && SORTS.test(name))
      this.#spend(argument.length * (STEPS_A_MEMBER - 1));

    const kept = isKeptNumber(argument);
    if (kept && TAKE_OBJECTS.test(name)) fail(`${name}() was given a number`);
    if (TAKE_EVERY_NUMBER.test(name)) return;
    if (kept || (Array.isArray(argument) && argument.some(isKeptNumber)))
      fail(`${name}() was given a number with more digits than it can calculate with`);
  }

  #spend(steps: number): void {
    this.#afford(steps);
    if (this.#input !== undefined) this.#input.steps += steps;
  }

  /** Refuses a large result before it is made: it is charged when it is there. */
  #afford(steps: number): void {
    if ((this.#input?.steps ?? 0) + steps > MAX_STEPS)
      fail(`it takes too long: the expressions for a record may take ${MAX_STEPS} steps together`);
  }
}

function literal(value: unknown): Node {
  return { type: 'Literal', value: value as never };
}

function fail(message: string): never {
  throw new EvaluationProblem(message);
}

function fieldOf(value: unknown, name: string): unknown {
  if (!isObject(value) || isKeptNumber(value)) return null;
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

/** An argument, or a list of them, for functions that calculate. */
function calculable(argument: unknown): unknown {
  return Array.isArray(argument) && argument.some(isKeptNumber)
    ? argument.map(asDouble)
    : asDouble(argument);
}

/** JSON has no other numbers: it would write null. */
function finite<T>(result: T): T {
  if (typeof result === 'number' && !Number.isFinite(result))
    fail('a result is too large for a number, or none');
  return result;
}

function sizeOf(value: unknown, charactersAStep: number): number {
  if (typeof value === 'string') return Math.ceil(value.length / charactersAStep);
  if (typeof value !== 'object' || value === null) return 0;
  if (isKeptNumber(value)) return Math.ceil(digitsOf(value).length / charactersAStep);
  return Array.isArray(value) ? value.length : Object.keys(value).length * STEPS_A_MEMBER;
}

/** Number of parts of a text, or one more than the budget when there are more. */
function partsOf(text: string, separator: string): number {
  if (separator === '') return text.length;
  let parts = 1;
  for (let at = text.indexOf(separator); at !== -1 && parts <= MAX_STEPS; parts++)
    at = text.indexOf(separator, at + separator.length);
  return parts;
}

const flatLength = (list: readonly unknown[]): number =>
  list.reduce<number>((sum, entry) => sum + (Array.isArray(entry) ? entry.length : 1), 0);

/** The library's messages name types and functions; those of the runtime may quote anything. */
function problemOf(error: unknown): EvaluationProblem {
  if (error instanceof EvaluationProblem) return error;
  const { name, message } = error as Error;
  return new EvaluationProblem(
    name === 'Error' || name === 'RuntimeError'
      ? message.replace(/\.$/, '')
      : 'it cannot be evaluated for a record of this size or depth',
  );
}

/** Evaluating never waits, so one is enough for all. */
export const evaluator = new Evaluator();
