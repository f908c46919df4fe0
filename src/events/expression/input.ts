/** Record that expressions are evaluated for. */
import type { SourceRecord } from '../../core/record.ts';
import type { DecodedEvent } from '../format.ts';

/** Reason why an expression has no value for a record. Messages never show its content (I6). */
export class EvaluationProblem extends Error {
  override readonly name = 'EvaluationProblem';
}

export class EventInput {
  readonly event: DecodedEvent;
  readonly record: SourceRecord;
  readonly topic: string;
  /** Steps spent on this record so far: all expressions share one budget. */
  steps = 0;
  #whole: object | undefined;

  constructor(event: DecodedEvent, record: SourceRecord, topic: string) {
    this.event = event;
    this.record = record;
    this.topic = topic;
  }

  /** The document with all digits of its numbers. @throws EvaluationProblem */
  whole(): object {
    this.#whole ??= this.event.exact();
    if (this.#whole !== undefined) return this.#whole;
    throw new EvaluationProblem('the value is nested too deeply to keep the digits of its numbers');
  }
}
