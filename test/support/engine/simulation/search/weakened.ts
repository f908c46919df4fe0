/** Worlds from which one rule of the protocol is removed. The simulation must find the resulting violation. */

import { CoordinateSet } from '../../../../../src/core/journal/job.ts';
import type { OffsetCommit, Transaction } from '../../../../../src/core/ports/kafka.ts';
import type { PerItemKind } from '../../../../../src/core/ports/pipeline-kind.ts';
import type { OutgoingRecord } from '../../../../../src/core/record.ts';
import type { PipelinePorts } from '../../../../../src/pipeline/context/pipeline-context.ts';
import { MemoryKafka } from '../../../memory/kafka/kafka.ts';
import { recordsOf, withRecords } from '../../../memory/kafka/pieces.ts';
import { TransactionCoordinator } from '../../../memory/kafka/transaction-coordinator.ts';
import { sliceOf } from '../../../records/slices.ts';
import { unpooledBody } from '../../../review/unpooled-body.ts';
import { changed, fetchedThrough, withFiles } from '../../changed.ts';
import type { WrapPorts } from '../../world.ts';
import type { Weakened } from '../history.ts';

/** Coordinator that fences no producer. It accepts an old epoch like the newest. */
class Unfenced extends TransactionCoordinator {
  readonly #newest = new Map<string, number>();
  override initialise(transactionalId: string): number {
    const epoch = super.initialise(transactionalId);
    this.#newest.set(transactionalId, epoch);
    return epoch;
  }
  override append(
    id: string,
    _epoch: number,
    topic: string,
    partition: number,
    records: readonly OutgoingRecord[],
  ): number {
    return super.append(id, this.#newest.get(id) ?? 0, topic, partition, records);
  }
  override addOffsets(
    id: string,
    _epoch: number,
    group: string,
    topic: string,
    offsets: readonly OffsetCommit[],
  ): void {
    super.addOffsets(id, this.#newest.get(id) ?? 0, group, topic, offsets);
  }
  override end(id: string, _epoch: number, outcome: 'commit' | 'abort'): void {
    super.end(id, this.#newest.get(id) ?? 0, outcome);
  }
}

class UnfencedKafka extends MemoryKafka {
  override readonly transactions = new Unfenced(
    this.cluster,
    this.clock,
    this.settings.transactions,
  );
}

/** Passes each transaction to `commit`, together with the real producer's commit. */
const withCommits =
  (
    commit: (
      transaction: Transaction,
      real: (transaction: Transaction) => Promise<{ readonly journalOffset: number }>,
      world: Parameters<WrapPorts>[1],
    ) => Promise<{ readonly journalOffset: number }>,
  ): WrapPorts =>
  (ports, world) => ({
    ...ports,
    producers: {
      open: (shard) => {
        const producer = ports.producers.open(shard);
        return changed(producer, {
          commit: (transaction) => commit(transaction, (one) => producer.commit(one), world),
        });
      },
    },
  });

const kind =
  (change: (ports: PipelinePorts) => Partial<PipelinePorts['kind']>): WrapPorts =>
  (ports) => ({ ...ports, kind: changed(ports.kind, change(ports)) });

/** Passes the outcomes of kinds without result files through `change`. Other kinds stay unchanged. */
const outcomes =
  (change: (real: PerItemKind) => PerItemKind['outcomes']): WrapPorts =>
  (ports) => ({
    ...ports,
    kind:
      'outcomes' in ports.kind
        ? changed<PerItemKind>(ports.kind, { outcomes: change(ports.kind) })
        : ports.kind,
  });

const OWNER = { key: 'owner', value: '{"v":1,"instance":"i","claim":"c","atMs":1}' };

export const WEAKENED: Readonly<Record<string, Weakened>> = {
  'owners are not fenced': {
    cluster: (clock, hooks, settings) => new UnfencedKafka(clock, clock, hooks, settings),
  },
  'outputs are not part of the transaction': {
    wrap: withCommits(async ({ outputs = [], ...rest }, real, { kafka }) => {
      for (const { topic, records } of outputs) kafka.cluster.produce(topic, 0, [...records]);
      return real(rest);
    }),
  },
  'the journal is not part of the transaction': {
    wrap: withCommits(async (transaction, real) => {
      const { journalOffset } = await real({ journal: transaction.journal });
      const { outputs, offsets } = transaction;
      const [head] = transaction.journal;
      if (outputs !== undefined || offsets !== undefined)
        await real({ ...transaction, journal: [head] });
      return { journalOffset };
    }),
  },
  'a drain is acknowledged before it has ended': {
    wrap: withCommits((transaction, real) => {
      const [head, ...tail] = transaction.journal.map(({ key, value }) =>
        key === 'control/ack' && value !== null
          ? { key, value: value.replace('"drained":false', '"drained":true') }
          : { key, value },
      );
      return real({ ...transaction, journal: [head ?? OWNER, ...tail] });
    }),
  },
  'source offsets are not part of the transaction': {
    wrap: withCommits(async ({ offsets = [], ...rest }, real, { kafka, options }) => {
      for (const { partition, offset, metadata } of offsets)
        kafka.cluster.commitOffset(
          options.source.group,
          options.source.topic,
          partition,
          offset,
          metadata,
        );
      return real(rest);
    }),
  },
  'the remaining records of a job are not written': {
    wrap: withCommits((transaction, real) => {
      const [head, ...tail] = transaction.journal.filter(
        ({ key, value }) =>
          value === null || !key.endsWith('/left') || transaction.outputs === undefined,
      );
      return real({ ...transaction, journal: [head ?? OWNER, ...tail] });
    }),
  },
  'progress has the watermark, but not the claimed offsets': {
    wrap: withCommits((transaction, real) => {
      const [head, ...tail] = transaction.journal.map(({ key, value }) =>
        key.startsWith('progress/') && value !== null
          ? { key, value: JSON.stringify({ ...(JSON.parse(value) as object), claimed: '' }) }
          : { key, value },
      );
      return real({ ...transaction, journal: [head as (typeof transaction.journal)[0], ...tail] });
    }),
  },
  'a claim does not read the journal to its end': {
    wrap: fetchedThrough((batch, give) => {
      const records = recordsOf(batch);
      const isOwn = records.some(({ key }) => String(key) === 'owner');
      if (batch.stream !== 'journal' || !isOwn) return give(batch);
      const kept = records.filter(({ key }) => String(key) === 'owner' || String(key) === 'meta');
      give(withRecords(batch, kept));
    }),
  },
  'a committed offset of another writer is trusted at once': {
    wrap: (ports) => ({
      ...ports,
      admin: changed(ports.admin, {
        committed: async (...asked) =>
          new Map(
            [...(await ports.admin.committed(...asked))].map(([partition, { offset }]) => [
              partition,
              { offset, metadata: '' },
            ]),
          ),
      }),
    }),
  },
  'a batch is uploaded before its job is in the journal': {
    wrap: kind(({ kind: real }) => ({
      create: async (type, signal) => {
        const created = await real.create(type, signal);
        await real.upload(created, unpooledBody(Buffer.from('[]'), 0), signal);
        return created;
      },
    })),
  },
  'a transaction waits for the service': {
    beforeCommit: async ({ clock }) => {
      await clock.sleep(15_000);
    },
  },
  'the terminal record of a row names another offset': {
    wrap: kind(({ kind: real }) => ({
      results: async function* (status, job, signal) {
        for await (const slice of withFiles(real).results(status, job, signal)) {
          yield sliceOf(
            Array.from(slice, (row) =>
              !('record' in row) || row.offset === 0
                ? row
                : {
                    ...row,
                    record: { ...row.record, value: forge(row.record.value, row.offset - 1) },
                  },
            ),
          );
        }
      },
    })),
  },
  'a receipt names an import that does not contain its record': {
    wrap: outcomes((real) => (items, status, job, signal, last) => {
      const other = { ...job(), remoteId: 'batch-1' };
      return real.outcomes(items, status, () => other, signal, last);
    }),
  },
  'a pending decision is treated as final': {
    wrap: outcomes(
      (real) =>
        async function* (items, status, job, signal, last) {
          const said = new CoordinateSet();
          for await (const some of real.outcomes(items, status, job, signal, last)) {
            for (const { partition, offset } of some) said.add(partition, offset);
            yield some;
          }
          const left = items.filter(({ partition, offset }) => !said.has(partition, offset));
          yield left.map((item) => {
            const { key, value } = real.failure(item, { code: 'none', message: '' }, job());
            const pending = {
              ...(JSON.parse(String(value)) as object),
              status: 'SUCCESS',
              decision_status: 'PENDING',
              error: null,
            };
            const { partition, offset } = item;
            return {
              partition,
              offset,
              status: 'success' as const,
              record: { key, value: JSON.stringify(pending) },
            };
          });
        },
    ),
  },
  'items have the keys of other items of their job': {
    wrap: outcomes((real) => (items, status, job, signal, last) => {
      const shifted = items.map((item, index) => ({
        ...item,
        key: items[(index + 1) % items.length]?.key ?? null,
      }));
      return real.outcomes(shifted, status, job, signal, last);
    }),
  },
  'a rewind skips existing records': {
    wrap: (ports) => ({
      ...ports,
      reader: changed(ports.reader, {
        read: (range, onPiece, signal) =>
          ports.reader.read(
            range,
            (piece) => onPiece({ ...piece, records: piece.records.slice(1) }),
            signal,
          ),
      }),
    }),
  },
};

function forge(value: Buffer | string | null, offset: number): string {
  return JSON.stringify({ ...(JSON.parse(String(value)) as object), offset });
}
