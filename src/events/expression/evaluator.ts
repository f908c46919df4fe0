/**
 * JMESPath as the library reads and evaluates it, made safe for records of strangers: what an object inherits is not there, numbers keep
 * their digits, and an evaluation has an end. The library walks the tree through `visit` and `callFunction`, so they are the places
 * for that (docs/mapping.md, "The library").
 */
import { type FunctionSignature, TreeInterpreter } from '@jmespath-community/jmespath';
import { isKeptNumber } from '../../base/exact-json.ts';
import { isSame } from './equality.ts';
import { asDouble, compareNumbers, digitsOf } from './exact-number.ts';
import { ownFunctions } from './functions.ts';
import type { EventInput } from './input.ts';
import { EvaluationProblem } from './problem.ts';
import { recordFunctions } from './record-functions.ts';

const Interpreter = TreeInterpreter.constructor as new () => typeof TreeInterpreter;
export type Node = Parameters<typeof TreeInterpreter.search>[0];
type Given = Parameters<typeof TreeInterpreter.visit>[1];
type Found = ReturnType<typeof TreeInterpreter.visit>;

/** Budget shared by all expressions for one record, in nodes visited and entries handled: about a fifth of a second. */
const MAX_STEPS = 2_000_000;
/** Cost of an entry that is a member of an object: names are hashed, and large objects are slow. */
const STEPS_A_MEMBER = 8;
/** Cost of an entry of a list that is sorted, or turned into members. */
const STEPS_AN_ENTRY: Readonly<Record<string, number>> = {
  from_items: 8,
  group_by: 8,
  sort: 8,
  sort_by: 8,
};
/** Functions that look for one text in another, and how many comparisons of characters cost a step: at worst as many as both lengths multiplied. */
const SEARCHES = new Set(['contains', 'find_first', 'find_last', 'replace', 'split']);
const COMPARISONS_A_STEP = 256;
/** Characters that cost a step when the machine's own code handles them, and when each becomes a value of its own. */
const CHARACTERS_A_STEP = 16;
const SPLIT_CHARACTERS_A_STEP = 4;

/** Functions to which a number that no double holds is a value like any other. The others would calculate with it. */
const TAKE_EVERY_NUMBER = new Set([
  ...[
    'contains',
    'from_items',
    'group_by',
    'items',
    'keys',
    'length',
    'map',
    'max_by',
    'merge',
    'min_by',
    'not_null',
  ],
  ...['reverse', 'sort_by', 'to_array', 'to_number', 'to_string', 'type', 'values', 'zip'],
]);
/** Of those, the ones to which it is no object. */
const TAKE_OBJECTS = new Set(['items', 'keys', 'length', 'merge', 'values']);

class Evaluator extends Interpreter {
  #input: EventInput | undefined;
  /** Variables of the `let` around the node, by name. */
  #variables: ReadonlyMap<string, Found> = new Map();

  constructor() {
    super();
    const { runtime } = this;
    Object.assign(
      runtime._functionTable,
      ownFunctions(
        (reference, value) => this.visit(reference as Node, value as Given),
        this.#compare,
      ),
      recordFunctions(() => this.#input ?? fail('there is no record')),
    );
    const call = runtime.callFunction.bind(runtime);
    runtime.callFunction = (name, args) => {
      const given = TAKE_EVERY_NUMBER.has(name) ? args : (args.map(calculable) as typeof args);
      for (const argument of given) this.#handle(name, argument);
      const [where, what] = given as readonly unknown[];
      if (SEARCHES.has(name) && typeof where === 'string' && typeof what === 'string')
        this.#spend(Math.ceil((where.length * what.length) / COMPARISONS_A_STEP));
      if (name === 'header') this.#spend(this.#input?.record.headers.length ?? 0);
      const result =
        name === 'type' && isKeptNumber(given[0])
          ? 'number'
          : name === 'to_string'
            ? asText(given)
            : call(name, given);
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
      return this.search(node, input.whole() as never);
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
        if (typeof base !== 'object' || base === null || Array.isArray(base) || isKeptNumber(base))
          return null;
        const found = Object.values(base).map((entry) => this.visit(node.right, entry));
        return found.filter((entry) => entry !== null) as Found;
      }
      case 'MultiSelectHash':
        return Object.fromEntries(
          node.children.map((child) => [child.name, this.visit(child.value, value)]),
        ) as Found;
      case 'Comparator':
        return this.#compared(
          node.name,
          this.visit(node.left, value),
          this.visit(node.right, value),
        );
      case 'Arithmetic':
        return finite(
          super.visit(
            {
              ...node,
              left: this.#operand(node.left, value),
              right: this.#operand(node.right, value),
            },
            null,
          ),
        );
      case 'Unary':
        return super.visit({ ...node, operand: this.#operand(node.operand, value) }, null);
      case 'Slice':
        this.#spend(sizeOf(value, SPLIT_CHARACTERS_A_STEP));
        return super.visit(node, value);
      case 'Flatten': {
        const flat = super.visit(node, value);
        this.#spend(sizeOf(flat, CHARACTERS_A_STEP));
        return flat;
      }
      default:
        return super.visit(node, value);
    }
  }

  /** A number to calculate with, as a node. */
  #operand(node: Node, value: Given): Node {
    const operand = asDouble(this.visit(node, value));
    if (isKeptNumber(operand)) fail('a number has more digits than can be calculated with');
    return { type: 'Literal', value: operand as never };
  }

  readonly #compare = (one: unknown, two: unknown): void => {
    // The entries of lists are compared one by one.
    this.#spend(
      Array.isArray(one)
        ? 1
        : 1 + Math.min(sizeOf(one, CHARACTERS_A_STEP), sizeOf(two, CHARACTERS_A_STEP)),
    );
  };

  #compared(name: string, one: unknown, two: unknown): boolean | null {
    if (name === 'EQ') return isSame(one, two, this.#compare);
    if (name === 'NE') return !isSame(one, two, this.#compare);
    this.#compare(one, two);
    const order = compareNumbers(one, two);
    if (order === undefined) return null;
    if (name === 'GT') return order > 0;
    if (name === 'GTE') return order >= 0;
    return name === 'LT' ? order < 0 : order <= 0;
  }

  #handle(name: string, argument: unknown): void {
    if (Array.isArray(argument)) this.#spend(argument.length * ((STEPS_AN_ENTRY[name] ?? 1) - 1));
    this.#spend(
      sizeOf(
        argument,
        name === 'length' || name === 'reverse' ? SPLIT_CHARACTERS_A_STEP : CHARACTERS_A_STEP,
      ),
    );
    const kept = isKeptNumber(argument);
    if (kept && TAKE_OBJECTS.has(name)) fail(`${name}() was given a number`);
    if (TAKE_EVERY_NUMBER.has(name)) return;
    if (kept || (Array.isArray(argument) && argument.some(isKeptNumber))) {
      fail(`${name}() was given a number with more digits than it can calculate with`);
    }
  }

  #spend(steps: number): void {
    const input = this.#input;
    if (input === undefined) return;
    input.steps += steps;
    if (input.steps > MAX_STEPS)
      fail(`it takes too long: the expressions for a record may take ${MAX_STEPS} steps together`);
  }
}

function fail(message: string): never {
  throw new EvaluationProblem(message);
}

function fieldOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isKeptNumber(value))
    return null;
  return Object.hasOwn(value, name)
    ? ((value as Readonly<Record<string, unknown>>)[name] ?? null)
    : null;
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

function asText([value]: readonly unknown[]): string {
  if (value === undefined) return fail('to_string() takes 1 argument');
  if (typeof value === 'string') return value;
  return isKeptNumber(value) ? digitsOf(value as object) : JSON.stringify(value);
}

function sizeOf(value: unknown, charactersAStep: number): number {
  if (typeof value === 'string') return Math.ceil(value.length / charactersAStep);
  if (typeof value !== 'object' || value === null) return 0;
  if (isKeptNumber(value)) return Math.ceil(digitsOf(value).length / charactersAStep);
  return Array.isArray(value) ? value.length : Object.keys(value).length * STEPS_A_MEMBER;
}

/** The library's own messages speak of types and functions; those of the machine might speak of anything. */
function problemOf(error: unknown): EvaluationProblem {
  if (error instanceof EvaluationProblem) return error;
  if (error instanceof Error && (error.name === 'Error' || error.name === 'RuntimeError')) {
    return new EvaluationProblem(error.message.replace(/\.$/, ''));
  }
  return new EvaluationProblem('it cannot be evaluated for a record of this size or depth');
}

/** Evaluating never waits, so one is enough for everybody. */
export const evaluator = new Evaluator();
