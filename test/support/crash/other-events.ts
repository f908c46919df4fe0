/** Records of imports and lookups for visits, and what the service got of them. */

import type { SandboxImports } from '../../chaos/judge/imported.ts';
import type { Produced } from '../../chaos/judge/judge-records.ts';
import type { ChaosEvent, Fate } from '../../chaos/load/events.ts';
import { NUMBER } from '../../chaos/load/hostile-parts.ts';
import type { Kind } from '../../chaos/load/pipelines.ts';
import type { TestKafka } from '../kafka/kafka.ts';
import { headerList } from '../records/headers.ts';
import { CANARY } from '../stack/canary.ts';
import type { Stack } from '../stack/stack.ts';
import { makeDecisions, sandboxFaults } from '../stack/stack-control.ts';
import type { Submitted } from './visits.ts';

export type OtherKind = Exclude<Kind, 'review'>;

/** Per partition so many, and as many as `poison` says that cannot be decoded; in each call numbered from `from` on. */
export interface Amount {
  readonly partitions: number;
  readonly count: number;
  readonly poison: number;
  readonly from: number;
}

export async function writeOthers(
  kafka: TestKafka,
  stack: Stack,
  kind: OtherKind,
  { partitions, count, poison, from }: Amount,
): Promise<Produced[]> {
  const events = Array.from({ length: partitions }, (_, partition) =>
    Array.from({ length: count + poison }, (_, n) => {
      const number = from + partition * (count + poison) + n;
      return n < count ? eventOf(kind, partition, number) : poisonOf(kind, partition, number);
    }),
  ).flat();
  const ids = events.flatMap(({ fate }) => ('lookup' in fate ? [fate.lookup.id] : []));
  await makeDecisions(
    stack.sandboxUrl,
    ids.map((id) => ({
      ...DECISION,
      decision_id: id,
      decision_status: 'SUCCESS',
      metadata: { id },
      labels: [],
    })),
  );
  const where = await kafka.write(stack.topics.source, events);
  return events.map((event, index) => ({ ...event, offset: where[index]?.offset ?? -1 }));
}

const DECISION = { result: 'approved' };

function eventOf(kind: OtherKind, partition: number, n: number): ChaosEvent {
  if (kind === 'lookup') {
    const id = `decision-${n}`;
    const decision = { ...DECISION, status: 'SUCCESS', labels: [], metadata: { id } } as const;
    return envelope(partition, n, id, { lookup: { id, decision } });
  }
  const record = {
    type: n % 2 === 0 ? 'user' : 'order',
    data: { [NUMBER]: n, text: `line\r\n"${CANARY.content}"`, zip: '007' },
  };
  return envelope(partition, n, JSON.stringify(record), { receipt: record });
}

function poisonOf(kind: OtherKind, partition: number, n: number): ChaosEvent {
  return kind === 'lookup'
    ? envelope(partition, n, '..', { deadLetter: 'no_content' })
    : envelope(partition, n, `no JSON ${CANARY.content}`, { deadLetter: 'not_json' });
}

function envelope(partition: number, n: number, value: string, fate: Fate): ChaosEvent {
  const headers = headerList({ trace: `trace-${n}`, binary: Buffer.from([n & 0xff]) });
  return {
    partition,
    key: Buffer.from(`k${n}`),
    value: Buffer.from(value),
    headers,
    timestampMs: Date.now(),
    metadata: undefined,
    fate,
  };
}

/** Counts submissions to a sandbox whose first scripted fault only counts PUTs. */
export async function importsSubmitted(stack: Stack): Promise<Submitted> {
  const answer = await fetch(`${stack.sandboxUrl}/sandbox/imports`);
  const { totals } = (await answer.json()) as SandboxImports;
  const [counter] = await sandboxFaults(stack);
  return {
    batches: totals.imports,
    puts: counter?.fired ?? 0,
    uploads: totals.uploads,
    rows: totals.records,
  };
}
