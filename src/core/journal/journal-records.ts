/**
 * The journal's records: keys and values (DESIGN 1). Values are JSON with a version; keys never change.
 *
 * | key             | value                                                          |
 * |-----------------|----------------------------------------------------------------|
 * | `meta`          | group, source topic, number of shards, kind, format            |
 * | `owner`         | instance, claim id, time: the replay barrier, and the probe    |
 * | `progress/<p>`  | seq; W, claimed offsets ≥ W, replay count, last seen, start    |
 * | `job/<id>`      | JobRecord                                                      |
 * | `job/<id>/left` | offsets still to be settled                                    |
 *
 * One progress record per source partition (DESIGN has one per shard): a transaction writes only those that moved, and no
 * record grows with the number of partitions in a shard (ADR 0003).
 */

import { OffsetSet } from '../offsets/offset-set.ts';
import type { JournalWrite } from '../ports/kafka.ts';
import { CoordinateSet, type JobRecord } from './job.ts';

/** The format that this version writes, and the newest that it reads. */
export const JOURNAL_FORMAT = 1;

export interface JournalMeta {
  readonly group: string;
  readonly source: string;
  readonly shards: number;
  readonly kind: string;
}

export interface OwnerRecord {
  readonly instance: string;
  readonly claim: string;
  readonly atMs: number;
}

export interface PartitionProgress {
  /** Grows with every progress write of the shard; the group's commit carries it as metadata. */
  readonly seq: number;
  /** W: every record below is settled or in a live job. */
  readonly watermark: number;
  /** Offsets ≥ W that are settled or in a live job (or hold no record at all). */
  readonly claimed: OffsetSet;
  /** How often the group was reset for this partition. */
  readonly replay: number;
  /** How far intake had read when this was written: records below it that are read again were waiting in a buffer. */
  readonly read: number;
  /** The newest claimed record, to notice that the topic was made anew. */
  readonly last: { readonly offset: number; readonly timestampMs: number } | null;
  /** The first offset that the pipeline answers for. Absent in records of versions that did not write it. */
  readonly start?: number;
  /** `start` is an offset that the group had before this journal: who answered for the records below it is not known here. */
  readonly inherited?: true;
}

export type JournalEntry =
  | { readonly entry: 'meta'; readonly value: JournalMeta & { readonly format: number } }
  | { readonly entry: 'owner'; readonly value: OwnerRecord }
  | { readonly entry: 'progress'; readonly partition: number; readonly value: PartitionProgress }
  | { readonly entry: 'job'; readonly id: string; readonly value: JobRecord | null }
  | { readonly entry: 'left'; readonly id: string; readonly value: CoordinateSet | null };

/** The journal holds something that this version cannot read: nothing may be fenced or written. */
export class JournalFormatError extends Error {
  override readonly name = 'JournalFormatError';
}

const write = (key: string, value: object | null): JournalWrite => ({
  key,
  value: value === null ? null : JSON.stringify({ v: JOURNAL_FORMAT, ...value }),
});

export const writeMeta = (meta: JournalMeta): JournalWrite => write('meta', meta);
export const writeOwner = (owner: OwnerRecord): JournalWrite => write('owner', owner);
export const writeJob = (job: JobRecord): JournalWrite => write(`job/${job.id}`, job);
export const writeLeft = (id: string, left: CoordinateSet): JournalWrite =>
  write(`job/${id}/left`, {
    left: left.entries().map(([partition, offsets]) => [partition, offsets.encode()]),
  });
/** A job and its remainder end together. */
export const writeJobEnd = (id: string): [JournalWrite, JournalWrite] => [
  write(`job/${id}`, null),
  write(`job/${id}/left`, null),
];
export const writeProgress = (partition: number, progress: PartitionProgress): JournalWrite =>
  write(`progress/${partition}`, { ...progress, claimed: progress.claimed.encode() });

/**
 * Reads one record of the journal.
 * @throws JournalFormatError for a newer format, an unknown key, or a value that is not what its key promises.
 */
export function readJournalRecord(key: string, value: string | null): JournalEntry {
  const [head, id, tail, ...more] = key.split('/');
  const known =
    (head === 'meta' || head === 'owner') && id === undefined
      ? head
      : head === 'progress' && id !== undefined && /^\d+$/.test(id) && tail === undefined
        ? head
        : head === 'job' && id && (tail === undefined || (tail === 'left' && more.length === 0))
          ? head
          : undefined;
  if (known === undefined)
    throw new JournalFormatError(
      `the journal has a record this version does not know: key ${quote(key)}`,
    );
  if (value === null) {
    if (known === 'job')
      return tail === 'left'
        ? { entry: 'left', id: id as string, value: null }
        : { entry: 'job', id: id as string, value: null };
    throw new JournalFormatError(
      `the journal has a tombstone for ${quote(key)}, which is never deleted`,
    );
  }
  const fields = new Fields(key, value);
  switch (known) {
    case 'meta':
      return {
        entry: 'meta',
        value: {
          format: fields.version,
          group: fields.text('group'),
          source: fields.text('source'),
          shards: fields.count('shards'),
          kind: fields.text('kind'),
        },
      };
    case 'owner':
      return {
        entry: 'owner',
        value: {
          instance: fields.text('instance'),
          claim: fields.text('claim'),
          atMs: fields.count('atMs'),
        },
      };
    case 'progress':
      return { entry: 'progress', partition: Number(id), value: readProgress(fields) };
    case 'job':
      if (tail === undefined)
        return { entry: 'job', id: id as string, value: readJob(fields, id as string) };
      return { entry: 'left', id: id as string, value: readLeft(fields) };
  }
}

function readProgress(fields: Fields): PartitionProgress {
  const last = fields.raw('last');
  const start = fields.raw('start') === undefined ? {} : { start: fields.count('start') };
  const inherited = fields.raw('inherited') === true ? ({ inherited: true } as const) : {};
  return {
    seq: fields.count('seq'),
    watermark: fields.count('watermark'),
    claimed: fields.offsets(fields.text('claimed')),
    replay: fields.count('replay'),
    read: fields.count('read'),
    last: last === null ? null : new Fields(`${fields.key}.last`, last).lastSeen(),
    ...start,
    ...inherited,
  };
}

function readJob(fields: Fields, id: string): JobRecord {
  const sources = fields.list('sources').map((source) => {
    const one = new Fields(fields.key, source);
    const offsets = one.text('offsets');
    fields.offsets(offsets, MAX_NAMED);
    return { partition: one.count('partition'), replay: one.count('replay'), offsets };
  });
  const newest =
    fields.raw('newestEventMs') === undefined
      ? {}
      : { newestEventMs: fields.number('newestEventMs') };
  return {
    id,
    remoteId: fields.text('remoteId'),
    kind: fields.text('kind'),
    type: fields.text('type'),
    attempt: fields.count('attempt'),
    depth: fields.count('depth'),
    spent: fields.count('spent'),
    root: fields.text('root'),
    sequence: fields.count('sequence'),
    count: fields.count('count'),
    bytes: fields.count('bytes'),
    createdMs: fields.count('createdMs'),
    oldestEventMs: fields.number('oldestEventMs'),
    ...newest,
    sources,
  };
}

function readLeft(fields: Fields): CoordinateSet {
  return CoordinateSet.fromSets(
    fields.list('left').map((pair) => {
      const [partition, offsets] = Array.isArray(pair) ? pair : [];
      if (!Number.isSafeInteger(partition) || typeof offsets !== 'string')
        throw fields.broken('left');
      return [partition as number, fields.offsets(offsets, MAX_NAMED)] as const;
    }),
  );
}

/** Typed access to one JSON value; every complaint names the key and the field, never other contents. */
class Fields {
  readonly key: string;
  readonly #object: Record<string, unknown>;

  constructor(key: string, value: unknown) {
    this.key = key;
    let parsed = value;
    if (typeof value === 'string') {
      try {
        parsed = JSON.parse(value);
      } catch {
        throw new JournalFormatError(
          `the journal's record ${quote(key)} is not JSON: is another application writing to this topic?`,
        );
      }
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      throw new JournalFormatError(
        `the journal's record ${quote(key)} is not a JSON object: is another application writing to this topic?`,
      );
    }
    this.#object = parsed as Record<string, unknown>;
    if (typeof value === 'string' && this.version > JOURNAL_FORMAT) {
      throw new JournalFormatError(
        `the journal's record ${quote(key)} has format ${this.version}; this version reads up to ${JOURNAL_FORMAT}. Run the version that wrote it, or a newer one.`,
      );
    }
  }

  get version(): number {
    return this.count('v');
  }
  raw(name: string): unknown {
    return this.#object[name];
  }
  text(name: string): string {
    const value = this.#object[name];
    if (typeof value !== 'string') throw this.broken(name);
    return value;
  }
  count(name: string): number {
    const value = this.#object[name];
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
      throw this.broken(name);
    return value;
  }
  /** Producers set timestamps as they like, also below 0. */
  number(name: string): number {
    const value = this.#object[name];
    if (typeof value !== 'number') throw this.broken(name);
    return value;
  }
  list(name: string): unknown[] {
    const value = this.#object[name];
    if (!Array.isArray(value)) throw this.broken(name);
    return value;
  }
  offsets(encoded: string, most = Number.POSITIVE_INFINITY): OffsetSet {
    try {
      const offsets = OffsetSet.decode(encoded);
      if (offsets.size > most)
        throw new RangeError(
          `${offsets.size} offsets are more than the ${most} that a job may name`,
        );
      return offsets;
    } catch (error) {
      throw new JournalFormatError(
        `the journal's record ${quote(this.key)} holds a broken offset set: ${(error as Error).message}`,
      );
    }
  }
  lastSeen(): { offset: number; timestampMs: number } {
    return { offset: this.count('offset'), timestampMs: this.number('timestampMs') };
  }
  broken(name: string): JournalFormatError {
    return new JournalFormatError(
      `the journal's record ${quote(this.key)} has no valid field ${quote(name)}`,
    );
  }
}

/** A job names records one by one, and whoever reads it goes through them: a broken record must not name all offsets there are. */
const MAX_NAMED = 2 ** 24;

const quote = (text: string): string => JSON.stringify(text.slice(0, 200));
