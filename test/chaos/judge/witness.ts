/** Gathers what there is to say about one pipeline of a stack: its events, its topics, its group, and what the service has. */
import type { TestKafka } from '../../support/kafka/kafka.ts';
import type { StackPipeline } from '../../support/stack/stack.ts';
import { groupPositions } from '../../support/stack/stack-control.ts';
import type { ReadRecord, TopicReader } from '../../support/stack/topic-reader.ts';
import { RETURNED_HEADERS } from '../load/hostile-parts.ts';
import type { Kind } from '../load/pipelines.ts';
import { Complaints } from './complaints.ts';
import { Imported } from './imported.ts';
import { type Evidence, judge, liveJobKeys } from './judge.ts';
import { judgeContracts } from './judge-contracts.ts';
import type { Ground, Produced } from './judge-records.ts';
import { judgeSilence } from './judge-silence.ts';

export class Witness {
  readonly outputs: ReadRecord[] = [];
  readonly deadLetters: ReadRecord[] = [];
  readonly #kafka: TestKafka;
  readonly #pipeline: StackPipeline;
  readonly #kind: Kind;
  readonly #produced: readonly Produced[];
  readonly #readers: Readonly<Record<'outputs' | 'deadLetters', TopicReader>>;

  /** @param produced grows while events are written */
  constructor(
    kafka: TestKafka,
    pipeline: StackPipeline,
    kind: Kind,
    produced: readonly Produced[],
  ) {
    this.#kafka = kafka;
    this.#pipeline = pipeline;
    this.#kind = kind;
    this.#produced = produced;
    const { decisions, deadLetters } = pipeline.topics;
    this.#readers = { outputs: kafka.reader(decisions), deadLetters: kafka.reader(deadLetters) };
  }

  /** True if every event has a terminal record, no job is live, and the group stands at the end. */
  async isSettled(): Promise<boolean> {
    const { outputs, deadLetters, journal, group } = await this.#evidence();
    return (
      outputs.length + deadLetters.length >= this.#produced.length &&
      liveJobKeys(journal).length === 0 &&
      group.every(({ committed, end }) => committed === end)
    );
  }

  /** @param sandboxUrl asked for what it has imported. @returns what is wrong */
  async complaints(sandboxUrl: string): Promise<string[]> {
    const evidence = await this.#evidence();
    const imported = await Imported.read(sandboxUrl, this.outputs);
    const isImported: Ground['isImported'] = (importId, record) => imported.has(importId, record);
    const more = new Complaints();
    judgeContracts(this.outputs, this.deadLetters, more);
    const journal = await this.#kafka.readAll(this.#pipeline.topics.journal, { uncommitted: true });
    judgeSilence(
      { kind: this.#kind, journal, outputs: this.outputs, deadLetters: this.deadLetters },
      more,
    );
    const complaints = [...judge({ ...evidence, isImported }), ...more.list()];
    return complaints.map((complaint) => `${this.#pipeline.name}: ${complaint}`);
  }

  async #evidence(): Promise<Evidence> {
    this.outputs.push(...(await this.#readers.outputs.readToEnd()));
    this.deadLetters.push(...(await this.#readers.deadLetters.readToEnd()));
    return {
      sourceTopic: this.#pipeline.topics.source,
      returnedHeaders: RETURNED_HEADERS,
      produced: this.#produced,
      outputs: this.outputs,
      deadLetters: this.deadLetters,
      journal: await this.#kafka.readAll(this.#pipeline.topics.journal),
      group: await groupPositions(this.#kafka, this.#pipeline),
    };
  }
}
