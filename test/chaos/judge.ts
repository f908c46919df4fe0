/**
 * The promise, checked from the outside: what went into the source topic against what a read_committed consumer finds in the
 * output topics, and what is left in the journal. Knows the documented formats and nothing of the connector's code.
 */
import { isDeepStrictEqual } from 'node:util';
import type { HeaderValue, RecordHeaders } from '../../src/core/record.ts';
import type { ReadRecord } from '../support/topic-reader.ts';
import type { ChaosEvent } from './hostile-events.ts';

export interface Produced extends ChaosEvent {
  readonly offset: number;
}

export interface Evidence {
  readonly sourceTopic: string;
  /** Every committed record of the source. */
  readonly produced: readonly Produced[];
  /** Headers that decisions carry back. */
  readonly returnedHeaders: readonly string[];
  /** Everything that a read_committed consumer sees. */
  readonly decisions: readonly ReadRecord[];
  readonly deadLetters: readonly ReadRecord[];
  readonly journal: readonly ReadRecord[];
  readonly group: readonly { readonly partition: number; readonly committed: number; readonly end: number }[];
}

/** What judging single records needs. */
export interface Ground extends Pick<Evidence, 'sourceTopic' | 'returnedHeaders'> {
  /** Whether the group was reset: then event ids may end in `#1`, `#2`, … Default false. */
  readonly replays?: boolean;
}

/** How many complaints of one kind are spelled out. */
const SHOWN = 3;

/** @returns what is wrong, by kind; empty when the promise was kept. */
export function judge(evidence: Evidence): string[] {
  const verdict = new Complaints();
  const seen = new Map<string, number>();
  const produced = new Map(evidence.produced.map((event) => [at(event), event]));
  const terminal = (where: string): Produced | undefined => {
    const times = (seen.get(where) ?? 0) + 1;
    seen.set(where, times);
    if (times === 2) verdict.add('has more than one terminal record', where);
    const event = produced.get(where);
    if (event === undefined) verdict.add('has a terminal record, but no committed record stands there', where);
    return times > 1 ? undefined : event;
  };
  for (const record of evidence.decisions) judgeDecision(evidence, record, terminal, verdict);
  for (const record of evidence.deadLetters) judgeDeadLetter(evidence, record, terminal, verdict);
  for (const where of produced.keys()) if (!seen.has(where)) verdict.add('has no terminal record', where);
  for (const key of liveJobKeys(evidence.journal)) verdict.add('is still live in the journal', key);
  for (const { partition, committed, end } of evidence.group) {
    if (committed !== end) verdict.add('is not committed to its end', `partition ${partition} (${committed} of ${end})`);
  }
  return verdict.list();
}

/** Takes note of a terminal record. @returns the event that it must fit, if it is to be looked at. */
type Terminal = (where: string) => Produced | undefined;

export function judgeDecision(ground: Ground, record: ReadRecord, terminal: Terminal, verdict: Complaints): void {
  const { sourceTopic, returnedHeaders } = ground;
  const value = JSON.parse(String(record.value)) as Record<string, unknown>;
  const source = value.source as { topic: string; partition: number; offset: number; timestamp: string };
  const where = at(source);
  const event = terminal(where);
  if (event === undefined) return;
  const wrong = (what: string) => verdict.add(`has a decision with the wrong ${what}`, where);
  if (!('decision' in event.fate)) {
    verdict.add('has a decision, and must have a dead letter', where);
    return;
  }
  const { status, result, type } = event.fate.decision;
  if (value.status !== status || (value.error === null) !== (status === 'SUCCESS')) wrong('status');
  if (value.result !== result) wrong('result');
  if ((value.batch as { type: string }).type !== type) wrong('type');
  if (!isDeepStrictEqual(value.metadata, event.metadata)) wrong('metadata');
  if (!sameBytes(record.key, event.key)) wrong('key');
  if (source.topic !== sourceTopic || source.timestamp !== new Date(event.timestampMs).toISOString()) wrong('source');
  const id = String(value.id);
  const rightId = isEventId(ground, id, where);
  if (!rightId) wrong('id');
  const headers: Record<string, HeaderValue | undefined> = { 'event-id': rightId ? id : eventId(ground, where) };
  for (const name of returnedHeaders) headers[name] = event.headers[name];
  if (!sameHeaders(record.headers, headers)) wrong('headers');
}

export function judgeDeadLetter(ground: Ground, record: ReadRecord, terminal: Terminal, verdict: Complaints): void {
  const { sourceTopic } = ground;
  const header = (name: string) => String(record.headers[`dead-letter-${name}`]);
  const where = `${header('partition')}:${header('offset')}`;
  const event = terminal(where);
  if (event === undefined) return;
  if (!('deadLetter' in event.fate)) {
    verdict.add(`is a dead letter (${header('reason')}), and must have a decision`, where);
    return;
  }
  const wrong = (what: string) => verdict.add(`has a dead letter with the wrong ${what}`, where);
  if (header('reason') !== event.fate.deadLetter) wrong('reason');
  if (header('topic') !== sourceTopic) wrong('topic');
  if (!isEventId(ground, String(record.headers['event-id']), where)) wrong('event id');
  if (!sameBytes(record.key, event.key)) wrong('key');
  if (!sameBytes(record.value, event.value)) wrong('value');
  const own = Object.entries(record.headers).filter(([name]) => !name.startsWith('dead-letter-') && name !== 'event-id');
  if (!sameHeaders(Object.fromEntries(own), event.headers)) wrong('headers');
}

/** Keys of jobs, and of what is left of them, whose newest value is not a tombstone. */
export function liveJobKeys(journal: readonly ReadRecord[]): string[] {
  const live = new Set<string>();
  for (const { key, value } of journal) {
    const name = String(key);
    if (!name.startsWith('job/')) continue;
    if (value === null) live.delete(name);
    else live.add(name);
  }
  return [...live];
}

const eventId = ({ sourceTopic }: Ground, where: string): string => `${sourceTopic}-${where.replace(':', '-')}`;

function isEventId(ground: Ground, id: string, where: string): boolean {
  return (ground.replays === true ? id.replace(/#[1-9]\d*$/, '') : id) === eventId(ground, where);
}

const at = ({ partition, offset }: { readonly partition: number; readonly offset: number }): string => `${partition}:${offset}`;

function sameBytes(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}

function sameHeaders(a: RecordHeaders, b: RecordHeaders): boolean {
  const bytes = (headers: RecordHeaders) =>
    Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value].flat().map((one) => Buffer.from(one ?? ''))]),
    );
  return isDeepStrictEqual(bytes(a), bytes(b));
}

/** What is wrong, gathered by kind. */
export class Complaints {
  readonly #byKind = new Map<string, string[]>();

  add(kind: string, where: string): void {
    const all = this.#byKind.get(kind) ?? [];
    all.push(where);
    this.#byKind.set(kind, all);
  }

  list(): string[] {
    return [...this.#byKind].map(([kind, all]) => {
      const more = all.length > SHOWN ? ` and ${all.length - SHOWN} more` : '';
      return `${all.slice(0, SHOWN).join(', ')}${more}: ${kind}`;
    });
  }
}
