/**
 * The library's JMESPath evaluator, made safe for hostile records: inherited members are hidden,
 * numbers keep their digits, and every evaluation ends. The library walks the tree through `visit`
 * and `callFunction`, both of which are overridden (docs/mapping.md).
 */
import { type FunctionSignature, TreeInterpreter } from '@jmespath-community/jmespath';
import { isKeptNumber } from '../../../packages/client/src/base/json/json-text.ts';
import { isObject } from '../../../packages/client/src/base/json/json-values.ts';
import { asDouble, functionsOf, OFFERED, SIGNATURES, sizeOf, writtenUnits } from './functions.ts';
import { EvaluationProblem, type EventInput } from './input.ts';

const Interpreter = TreeInterpreter.constructor as new () => typeof TreeInterpreter;
export type Node = Parameters<typeof TreeInterpreter.search>[0];
type Given = Parameters<typeof TreeInterpreter.visit>[1];
type Found = ReturnType<typeof TreeInterpreter.visit>;

/** Maximum number of steps per record: visited nodes and sizes of values. They take about a fifth of a second. */
const MAX_STEPS = 2_000_000;
/** Characters of JSON that cost one step when lists or objects are compared. */
const UNITS_A_STEP = 4;

class Evaluator extends Interpreter {
  #input: EventInput | undefined;

  constructor() {
    super();
    const { runtime } = this;
    const table = runtime._functionTable;
    for (const name of Object.keys(table)) if (!OFFERED.has(name)) delete table[name];
    const functions = functionsOf({
      input: () => this.#input as EventInput,
      spend: (steps) => this.#spend(steps),
    });
    for (const [name, run] of Object.entries(functions)) {
      const _signature =
        SIGNATURES[name]?.map((type) => ({ types: [type] })) ?? table[name]?._signature ?? [];
      table[name] = { _func: run as (args: unknown) => never, _signature };
    }

    const { getTypeName } = runtime as unknown as { getTypeName(value: unknown): number };
    const call = runtime.callFunction.bind(runtime);
    Object.assign(runtime, {
      getTypeName: (value: unknown) => getTypeName(isKeptNumber(value) ? 0 : value),
      callFunction: (name: string, args: Parameters<typeof call>[1]) => {
        const [one, two] = args;
        // contains() may compare this string with every entry or part of the other argument.
        const times = typeof two === 'string' ? sizeOf(one) * sizeOf(two) : 0;
        this.#spend(args.reduce((sum: number, argument) => sum + sizeOf(argument), times));
        const result = call(name, args);
        this.#spend(sizeOf(result));
        return result;
      },
    });
  }

  get functions(): Readonly<Record<string, FunctionSignature>> {
    return this.runtime._functionTable;
  }

  /** @throws EvaluationProblem */
  evaluate(node: Node, input: EventInput): unknown {
    this.#input = input;
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
      case 'ValueProjection': {
        const base = this.visit(node.left, value);
        return super.visit({ ...node, left: literal(isKeptNumber(base) ? null : base) }, value);
      }
      case 'Comparator': {
        const [one, two] = [this.visit(node.left, value), this.visit(node.right, value)];
        if (typeof one === 'object' && typeof two === 'object')
          for (const value of [one, two])
            this.#spend(writtenUnits(value, UNITS_A_STEP * MAX_STEPS) / UNITS_A_STEP);
        else if (typeof one === 'string') this.#spend(sizeOf(one));
        const [left, right] = [literal(asDouble(one)), literal(asDouble(two))];
        return super.visit({ ...node, left, right }, null);
      }
      case 'Slice':
        // Each character of a string becomes a separate value.
        this.#spend(4 * sizeOf(value));
        return super.visit(node, value);
      case 'Flatten': {
        const base = this.visit(node.child, value);
        if (Array.isArray(base))
          for (const list of base) this.#spend(Array.isArray(list) ? list.length : 1);
        return super.visit({ ...node, child: literal(base) }, value);
      }
      default:
        return super.visit(node, value);
    }
  }

  #spend(steps: number): void {
    const input = this.#input;
    if (input === undefined) return;
    input.steps += steps;
    if (input.steps > MAX_STEPS) {
      throw new EvaluationProblem(
        `it takes too long: all expressions for a record together are limited to ${MAX_STEPS} steps`,
      );
    }
  }
}

function literal(value: unknown): Node {
  return { type: 'Literal', value: value as never };
}

function fieldOf(value: unknown, name: string): unknown {
  if (!isObject(value) || isKeptNumber(value)) return null;
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

/** Keeps the library's own messages, which only name types and functions. Other messages may quote content. */
function problemOf(error: unknown): EvaluationProblem {
  if (error instanceof EvaluationProblem) return error;
  const { name, message } = error as Error;
  return new EvaluationProblem(
    name === 'Error' || name === 'RuntimeError'
      ? message.replace(/\.$/, '')
      : 'it cannot be evaluated for a record of this size or depth',
  );
}

/** Shared by all mappings, because an evaluation is synchronous. */
export const evaluator = new Evaluator();
