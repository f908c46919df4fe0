/** Parts of a mapping, and their failures for a record. */
import type { ScannedValue } from '../../packages/client/src/base/json/scanner.ts';
import type { DeadLetterReason } from '../core/outcome/dead-letter-reason.ts';
import type { Poison } from '../core/record.ts';
import { MAX_TEXT, writtenUnits } from './expression/functions.ts';
import {
  compileExpression,
  type Evaluate,
  EvaluationProblem,
  type EventInput,
} from './expression/index.ts';
import { typeOfFound } from './expression/input.ts';

/** Failure to map a record, which becomes a dead letter. Messages never contain content (I6). */
export class MappingFailure extends Error {
  override readonly name = 'MappingFailure';
  readonly poison: Poison;

  constructor(reason: DeadLetterReason, message: string) {
    super(message);
    this.poison = { reason, message };
  }
}

/** Maximum length of an expression in a message. */
const MAX_SHOWN = 60;

/** One expression of a mapping, with the name of its option, such as `source.mapping.content`. */
export class MappedPart {
  readonly option: string;
  readonly #text: string;
  readonly #input: EventInput;
  readonly #evaluate: Evaluate | undefined;
  /** Number of the registered path, or -1 if the expression is not a path. */
  readonly #path: number = -1;

  /** @param input event for which the expression is evaluated @throws RangeError for an invalid expression */
  constructor(text: string, option: string, input: EventInput) {
    this.option = option;
    this.#text = text;
    this.#input = input;
    const expression = compileExpression(text);
    if (typeof expression === 'function') {
      this.#evaluate = expression;
      input.isParsed = true;
    } else this.#path = input.addPath(expression);
  }

  /** True if the expression is a path: its value is then part of the event. */
  get isPath(): boolean {
    return this.#evaluate === undefined;
  }

  /**
   * Returns the value in the current event, or the expression's result as JSON. Valid until the next
   * call.
   * @param maxBytes maximum size of a result
   * @throws MappingFailure
   */
  find(maxBytes: number = MAX_TEXT): ScannedValue {
    if (this.#evaluate === undefined) return this.#input.valueAt(this.#path);
    try {
      const found = this.#evaluate(this.#input) ?? null;
      // The result may contain the same large part of an event a million times.
      if (writtenUnits(found, maxBytes) > maxBytes) throw this.tooLarge(maxBytes);
      const json = Buffer.from(JSON.stringify(found));
      if (json.length > maxBytes) throw this.tooLarge(maxBytes);
      return this.#input.made(json);
    } catch (error) {
      if (!(error instanceof EvaluationProblem)) throw error;
      throw this.failure(error.reason, `cannot be evaluated: ${error.message}`);
    }
  }

  /** Example of a message: `"post.body" must be a string, but is null (source.mapping.content)` */
  mismatch(reason: DeadLetterReason, wanted: string, found: ScannedValue): MappingFailure {
    return this.failure(reason, `must be ${wanted}, but is ${typeOfFound(found)}`);
  }

  /** Example of a message: `"post.body" is an empty string (source.mapping.content)` */
  failure(reason: DeadLetterReason, what: string): MappingFailure {
    const text = this.#text;
    const short = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
    const shown = this.isPath ? `"${short}"` : `\`${short}\``;
    return new MappingFailure(reason, `${shown} ${what} (${this.option})`);
  }

  tooLarge(maxBytes: number): MappingFailure {
    return this.failure('too_large', `has more than the ${maxBytes} bytes allowed`);
  }

  /** @throws MappingFailure with a message such as `has 300 characters, more than the 256 of a content type` */
  limit(size: number, most: number, unit: string, of: string): void {
    if (size > most)
      throw this.failure('too_large', `has ${size} ${unit}, more than the ${most} ${of}`);
  }
}
