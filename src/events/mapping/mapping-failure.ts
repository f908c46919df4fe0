/** What is wrong with a part of a record, found while it is mapped. */
import type { DeadLetterReason, Poison } from '../../core/record.ts';
import {
  compileExpression,
  EvaluationProblem,
  type EventInput,
  type Expression,
} from '../expression/index.ts';

/** Ends the mapping of a record: it becomes a dead letter. Messages never show what the record holds (I6). */
export class MappingFailure extends Error {
  override readonly name = 'MappingFailure';
  readonly poison: Poison;

  constructor(reason: DeadLetterReason, message: string) {
    super(message);
    this.poison = { reason, message };
  }
}

/** What becomes of a record whose mapping threw. @throws what is no failure of a mapping */
export function poisonOf(error: unknown): { readonly poison: Poison } {
  if (error instanceof MappingFailure) return { poison: error.poison };
  throw error;
}

/** Longest part of an expression that a message shows. */
const MAX_SHOWN = 60;

/** One expression of a mapping, which knows its option: `source.mapping.content`. */
export class MappedPart {
  readonly option: string;
  readonly #expression: Expression;

  /** @throws RangeError on an expression that is none */
  constructor(text: string, option: string) {
    this.#expression = compileExpression(text);
    this.option = option;
  }

  get isPath(): boolean {
    return this.#expression.isPath;
  }

  /** As `Expression.find`. @throws MappingFailure */
  find(input: EventInput): unknown {
    try {
      return this.#expression.find(input);
    } catch (error) {
      throw this.#told(error, 'mapping_failed');
    }
  }

  /** As `Expression.exactly`. @throws MappingFailure */
  exactly(input: EventInput, reason: DeadLetterReason = 'mapping_failed'): unknown {
    try {
      return this.#expression.exactly(input);
    } catch (error) {
      throw this.#told(error, reason);
    }
  }

  /** `"post.body" must be a string, but is null (source.mapping.content)` */
  failure(reason: DeadLetterReason, what: string): MappingFailure {
    const { text, isPath } = this.#expression;
    const short = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
    return new MappingFailure(
      reason,
      `${isPath ? `"${short}"` : `\`${short}\``} ${what} (${this.option})`,
    );
  }

  #told(error: unknown, reason: DeadLetterReason): unknown {
    if (!(error instanceof EvaluationProblem)) return error;
    return this.failure(reason, `cannot be evaluated: ${error.message}`);
  }
}
