/** What an expression sees of a record. */
import type { SourceRecord } from '../../core/record.ts';
import type { ContentEvent } from '../format.ts';
import { settled } from './exact-number.ts';
import { EvaluationProblem } from './problem.ts';

export class EventInput {
  readonly event: ContentEvent;
  readonly record: SourceRecord;
  readonly topic: string;
  #whole: object | undefined;

  constructor(event: ContentEvent, record: SourceRecord, topic: string) {
    this.event = event;
    this.record = record;
    this.topic = topic;
  }

  /** The document; numbers that a double cannot hold, and only those, are kept as text. @throws EvaluationProblem */
  whole(): object {
    this.#whole ??= this.#settle();
    return this.#whole;
  }

  #settle(): object {
    const exact = this.event.exact();
    if (exact === this.event.document) return exact;
    try {
      if (exact !== undefined) return settled(exact) as object;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    throw new EvaluationProblem('the value is nested too deeply to keep the digits of its numbers');
  }
}
