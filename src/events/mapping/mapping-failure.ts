/** Parts of a mapping, and the failure of one for a record. */
import type { DeadLetterReason } from '../../core/outcome/dead-letter-reason.ts';
import type { Poison } from '../../core/record.ts';
import {
  compileExpression,
  EvaluationProblem,
  type EventInput,
  type Expression,
  typeOfFound,
} from '../expression/index.ts';

/** Failure of a mapping: the record becomes a dead letter. Messages never show its content (I6). */
export class MappingFailure extends Error {
  override readonly name = 'MappingFailure';
  readonly poison: Poison;

  constructor(reason: DeadLetterReason, message: string) {
    super(message);
    this.poison = { reason, message };
  }
}

/** Longest part of an expression that a message shows. */
const MAX_SHOWN = 60;

/** One expression of a mapping, with the name of its option: `source.mapping.content`. */
export class MappedPart {
  readonly option: string;
  readonly #expression: Expression;

  /** @throws RangeError on an invalid expression */
  constructor(text: string, option: string) {
    this.#expression = compileExpression(text);
    this.option = option;
  }

  get isPath(): boolean {
    return this.#expression.isPath;
  }

  /** Evaluates as `Expression.find`. @throws MappingFailure */
  find(input: EventInput): unknown {
    return this.#evaluate(this.#expression.find, input, 'mapping_failed');
  }

  /** Evaluates as `Expression.exactly`. @throws MappingFailure */
  exactly(input: EventInput, reason: DeadLetterReason): unknown {
    return this.#evaluate(this.#expression.exactly, input, reason);
  }

  /** `"post.body" must be a string, but is null (source.mapping.content)` */
  mismatch(reason: DeadLetterReason, wanted: string, found: unknown): MappingFailure {
    return this.failure(reason, `must be ${wanted}, but is ${typeOfFound(found)}`);
  }

  /** `"post.body" is an empty string (source.mapping.content)` */
  failure(reason: DeadLetterReason, what: string): MappingFailure {
    const { text, isPath } = this.#expression;
    const short = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
    const shown = isPath ? `"${short}"` : `\`${short}\``;
    return new MappingFailure(reason, `${shown} ${what} (${this.option})`);
  }

  /** @throws MappingFailure: `has 300 characters, more than the 256 of a content type` */
  limit(size: number, most: number, unit: string, of: string): void {
    if (size > most)
      throw this.failure('too_large', `has ${size} ${unit}, more than the ${most} ${of}`);
  }

  #evaluate(evaluate: Expression['find'], input: EventInput, reason: DeadLetterReason): unknown {
    try {
      return evaluate(input);
    } catch (error) {
      if (!(error instanceof EvaluationProblem)) throw error;
      throw this.failure(reason, `cannot be evaluated: ${error.message}`);
    }
  }
}
