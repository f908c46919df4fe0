/** What an expression sees of a record. */
import type { SourceRecord } from '../../core/record.ts';
import type { ContentEvent } from '../format.ts';
import { EvaluationProblem } from './problem.ts';

export class EventInput {
  readonly event: ContentEvent;
  readonly record: SourceRecord;
  readonly topic: string;
  /** Steps spent on this record so far: all expressions share one budget. */
  steps = 0;
  #whole: object | undefined;

  constructor(event: ContentEvent, record: SourceRecord, topic: string) {
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
