/** Correct setup for the doctor, in which tests break one thing at a time. */
import {
  ServiceError,
  type ServiceFailure,
} from '../../../../packages/client/src/base/service-error.ts';
import type {
  ClusterAdmin,
  CommittedOffset,
  TopicDescription,
  TopicScan,
} from '../../../../src/core/ports/kafka.ts';
import type { SourceRecord } from '../../../../src/core/record.ts';
import type { ClusterInspector, GroupDescription } from '../../../../src/kafka/admin/admin.ts';
import {
  type CheckReport,
  type CheckStatus,
  type DoctorParts,
  runChecks,
} from '../../../../src/tools/doctor/check.ts';
import { checksOf } from '../../../../src/tools/doctor/checks.ts';
import {
  type CreateTopicsOptions,
  createTopics,
  type TopicReport,
} from '../../../../src/tools/doctor/create-topics.ts';
import { engineOptions } from '../../../support/engine/world.ts';
import { VirtualClock } from '../../../support/memory/clock.ts';

export const NOW_MS: number = Date.UTC(2026, 10, 21, 12);
/** Virtual time that is longer than the limits of all checks together. */
const MAX_VIRTUAL_MS = 600_000;

export class FakeWorld {
  readonly #clock = new VirtualClock({ startMs: NOW_MS });
  brokers = 1;
  /** Settings by topic. */
  readonly settings = new Map<string, Record<string, string>>([
    [
      'content',
      { 'cleanup.policy': 'delete', 'retention.ms': '604800000', 'max.message.bytes': '1048588' },
    ],
    [
      'decisions',
      { 'cleanup.policy': 'delete', 'max.message.bytes': '1048588', 'min.insync.replicas': '1' },
    ],
    ['dead', { 'cleanup.policy': 'delete', 'max.message.bytes': '1048588' }],
  ]);
  replicationFactor = 1;
  group: GroupDescription = {
    state: 'Empty',
    protocolType: 'consumer',
    protocol: '',
    isOurs: true,
    members: [],
  };
  groupRefusal: Error | undefined;
  committed = new Map<number, CommittedOffset>();
  journal: { key: string; value: string }[] = [];
  answer: ServiceFailure | undefined = 'not_found';
  readonly tried: string[] = [];
  mayCreate = false;

  createTopics(options: Partial<CreateTopicsOptions> = {}): Promise<TopicReport[]> {
    const { pipelines, kafka } = this.#parts();
    const defaults = { partitions: 6, replicationFactor: undefined, yes: false };
    return createTopics(pipelines, kafka, { ...defaults, ...options });
  }

  async results(): Promise<Map<string, CheckReport>> {
    const { signal } = new AbortController();
    const running = runChecks(checksOf(this.#parts()), this.#clock, signal, () => {});
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    running.then(done, done);
    await this.#clock.runUntil(() => isDone, MAX_VIRTUAL_MS);
    const results = await running;
    return new Map(results.map((one) => [one.check.name, one]));
  }

  /** Returns `name status: found -> remedy` of each failed check or warning. */
  async wrong(): Promise<string[]> {
    const all: readonly CheckStatus[] = ['failed', 'warning'];
    return [...(await this.results()).values()]
      .filter(({ status }) => all.includes(status))
      .map(
        ({ check, status, found, remedy }) =>
          `${check.name} ${status}: ${found}${remedy === undefined ? '' : ` -> ${remedy}`}`,
      );
  }

  #parts(): DoctorParts {
    const [admin, scan] = [this.#admin(), this.#scan()];
    const topics = {
      source: 'content',
      journal: 'journal',
      decisions: 'decisions',
      deadLetters: 'dead',
    };
    const clock = this.#clock;
    return {
      clock,
      kafka: { inspector: this.#inspector(), addresses: ['a:1', 'b:1'], login: () => 'TLS' },
      services: [
        {
          name: 'default',
          path: 'service',
          address: 'https://api.example',
          ask: async () => {
            if (this.answer !== undefined)
              throw new ServiceError(this.answer, `responded with ${this.answer}`, {
                operation: 'get_batch',
                status: 400,
              });
          },
        },
      ],
      pipelines: [
        {
          name: 'posts',
          engine: engineOptions(),
          inspection: {
            pipeline: {
              name: 'posts',
              kind: 'review',
              group: 'reviewers',
              topics,
              reservedTopics: [],
              isSkipped: () => false,
              transactionTimeoutMs: 60_000,
            },
            scan,
            admin,
            clock,
            signal: new AbortController().signal,
            notice: () => {},
          },
          registryChecks: [],
        },
      ],
    };
  }

  #inspector(): ClusterInspector {
    return {
      connect: async (address) => {
        if (address === 'b:1' && this.brokers === 0) throw new Error('Connection error');
        if (this.brokers < 0) throw new Error('Connection error');
      },
      brokers: async () => [{ id: 1, address: 'a:1', failure: undefined }],
      group: async () => {
        if (this.groupRefusal !== undefined) throw this.groupRefusal;
        return this.group;
      },
      tryTransactionalId: async (id) => void this.tried.push(`try ${id}`),
      tryCreate: async (topic, { partitions }) =>
        void this.tried.push(`create ${topic} ${partitions}`),
    };
  }

  #admin(): ClusterAdmin {
    const never = async (): Promise<never> => {
      throw new Error('the doctor changes nothing');
    };
    return {
      brokerCount: async () => Math.max(1, this.brokers),
      describeTopic: async (topic): Promise<TopicDescription | undefined> => {
        const settings = this.settings.get(topic);
        if (settings === undefined) return undefined;
        return {
          partitions: 1,
          replicationFactor: this.replicationFactor,
          settings: new Map(Object.entries(settings)),
        };
      },
      createTopic: async (topic, { partitions, settings }) => {
        if (!this.mayCreate) await never();
        this.tried.push(`made ${topic} ${partitions}`);
        this.settings.set(topic, Object.fromEntries(settings));
      },
      ranges: never,
      ends: async () => new Map([[0, this.journal.length]]),
      committed: async () => this.committed,
      silentMs: () => 0,
      close: async () => {},
    };
  }

  #scan(): TopicScan {
    const { length } = this.journal;
    return {
      bounds: async () => new Map([[0, { start: 0, stable: length, end: length }]]),
      firstAt: async () => new Map(),
      read: async (_topic, { from, until }, onPiece) => {
        const records = this.journal.slice(from, until).map(
          ({ key, value }, n): SourceRecord => ({
            partition: 0,
            offset: from + n,
            timestampMs: 0,
            key: Buffer.from(key),
            value: Buffer.from(value),
            headers: [],
          }),
        );
        await onPiece({ records, unreadable: undefined, nextOffset: until });
      },
      members: async () => this.group.members.length,
      close: async () => {},
    };
  }
}
