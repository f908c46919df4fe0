/**
 * Records of the journal. Keys never change; values are JSON with a version.
 *
 * | key             | value                                                             |
 * |-----------------|-------------------------------------------------------------------|
 * | `meta`          | group, source topic, number of shards, kind, format               |
 * | `owner`         | instance, claim id, time: the barrier of a claim                  |
 * | `progress/<p>`  | seq; W, claimed offsets ≥ W, replay count, position, last, start  |
 * | `job/<id>`      | JobRecord                                                         |
 * | `job/<id>/left` | offsets still to be settled                                       |
 * | `control`       | what is paused or drained; written by an operator's command       |
 * | `control/ack`   | what the owner of the shard has made of it                        |
 *
 * A transaction writes the progress of the partitions that moved, so that no record grows with the
 * number of partitions in a shard (ADR 0003).
 */
import { isObject } from '../../base/json/is-object.ts';
import { parseJson } from '../../base/json/parse-json.ts';
import { OffsetSet } from '../offsets/offset-set.ts';
import type { JournalWrite } from '../ports/kafka.ts';
import {
  type Acknowledgement,
  type Control,
  type Hold,
  MAX_BY_CHARACTERS,
  MAX_REASON_CHARACTERS,
} from './control.ts';
import { CoordinateSet, type JobRecord, type JobSource } from './job.ts';

/** The format that this version writes, and the newest that it reads. */
export const JOURNAL_FORMAT = 1;
/** Offsets of a job: they are gone through one by one, so a broken record must not name more. */
const MAX_OFFSETS = 2 ** 24;

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
  /** Sequence of the shard's progress; the group's commits have it as metadata. */
  readonly seq: number;
  /** W: every record below is settled or in a live job. */
  readonly watermark: number;
  /** Offsets ≥ W that are settled or in a live job (or hold no record at all). */
  readonly claimed: OffsetSet;
  /** Resets of the group for this partition. */
  readonly replay: number;
  /** Position of intake: records below it that are read again were in a buffer. */
  readonly read: number;
  /** The newest claimed record: it differs if the topic was created again. */
  readonly last: { readonly offset: number; readonly timestampMs: number } | null;
  /** First offset that the pipeline answers for. Absent in records of earlier versions. */
  readonly start?: number;
  /** `start` is an offset that the group had before this journal: who answered for the records below it is not known here. */
  readonly inherited?: true;
}

type Meta = JournalMeta & { readonly format: number };

export type JournalEntry =
  | { readonly entry: 'meta'; readonly value: Meta }
  | { readonly entry: 'owner'; readonly value: OwnerRecord }
  | { readonly entry: 'progress'; readonly partition: number; readonly value: PartitionProgress }
  | { readonly entry: 'job'; readonly id: string; readonly value: JobRecord | null }
  | { readonly entry: 'left'; readonly id: string; readonly value: CoordinateSet | null }
  /** undefined: malformed. A command must not stop a shard, so it is ignored. */
  | { readonly entry: 'control'; readonly value: Control | undefined }
  | { readonly entry: 'control/ack'; readonly value: Acknowledgement | undefined };

/** The journal has a record that this version cannot read: nothing may be fenced or written. */
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

export const writeControl = (control: Control): JournalWrite => write(CONTROL_KEY, control);
export const writeAcknowledgement = (answer: Acknowledgement): JournalWrite =>
  write('control/ack', answer);

/** Key of the commands: an owner looks for it in all that is written to its journal. */
export const CONTROL_KEY = 'control';

const KEY = /^(?:(meta|owner)|progress\/(\d+)|job\/([^/]+?)(\/left)?)$/;

/**
 * Reads one record of the journal.
 * @throws JournalFormatError for a newer format, an unknown key, or an invalid value
 */
export function readJournalRecord(key: string, text: string | null): JournalEntry {
  if (key === CONTROL_KEY) return { entry: key, value: readable<Control>(CONTROL, key, text) };
  if (key === 'control/ack')
    return { entry: key, value: readable<Acknowledgement>(ACKNOWLEDGEMENT, key, text) };
  const known = KEY.exec(key);
  if (known === null)
    throw new JournalFormatError(
      `the journal has a record this version does not know: key ${quote(key)}`,
    );
  const [, single, partition, id = '', isLeft] = known;
  if (text === null) {
    if (id !== '') return { entry: isLeft ? 'left' : 'job', id, value: null };
    throw new JournalFormatError(
      `the journal has a tombstone for ${quote(key)}, which is never deleted`,
    );
  }
  const value = parsed(key, text);
  if (single === 'meta') return { entry: single, value: fieldsOf<Meta>(value, key, META) };
  if (single === 'owner') return { entry: single, value: fieldsOf<OwnerRecord>(value, key, OWNER) };
  if (partition !== undefined)
    return {
      entry: 'progress',
      partition: Number(partition),
      value: fieldsOf<PartitionProgress>(value, key, PROGRESS),
    };
  if (isLeft) return { entry: 'left', id, value: fieldsOf<Left>(value, key, LEFT).left };
  return { entry: 'job', id, value: { id, ...fieldsOf<Omit<JobRecord, 'id'>>(value, key, JOB) } };
}

/** Parses a value and checks its version. */
function parsed(key: string, text: string): object {
  const foreign = 'is another application writing to this topic?';
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    throw unreadable(key, `is not JSON: ${foreign}`);
  }
  if (!isObject(value)) throw unreadable(key, `is not a JSON object: ${foreign}`);
  const { v } = fieldsOf<{ v: number }>(value, key, { v: count });
  if (v > JOURNAL_FORMAT)
    throw unreadable(
      key,
      `has format ${v}; this version reads up to ${JOURNAL_FORMAT}. Run the version that wrote it, or a newer one.`,
    );
  return { ...value, format: v };
}

/** Reads a value that is ignored if it is invalid. */
function readable<T>(spec: Spec<T>, key: string, text: string | null): T | undefined {
  if (text === null || text.length > MAX_CONTROL_CHARACTERS) return undefined;
  try {
    return fieldsOf(parsed(key, text), key, spec);
  } catch (error) {
    if (error instanceof JournalFormatError) return undefined;
    throw error;
  }
}

/** Reads one value; undefined if it is invalid. */
type Reader = (value: unknown, key: string) => unknown;
type Spec<T> = Readonly<Record<keyof T, Reader>>;

/** Leaves a field out of what is read. */
const ABSENT = Symbol('absent');

/** @throws JournalFormatError that names the key and the field, never other contents */
function fieldsOf<T>(value: unknown, key: string, spec: Spec<T>): T {
  const read: Record<string, unknown> = {};
  for (const [name, reader] of Object.entries<Reader>(spec)) {
    const field = reader(isObject(value) ? value[name] : undefined, key);
    if (field === undefined) throw unreadable(key, `has no valid field ${quote(name)}`);
    if (field !== ABSENT) read[name] = field;
  }
  return read as T;
}

const text: Reader = (value) => (typeof value === 'string' ? value : undefined);
const count: Reader = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined;
/** Timestamps of producers may be negative. */
const number: Reader = (value) => (typeof value === 'number' ? value : undefined);
const optional =
  (reader: Reader): Reader =>
  (value, key) =>
    value === undefined ? ABSENT : reader(value, key);

function listOf(item: Reader): Reader {
  return (value, key) => {
    if (!Array.isArray(value)) return undefined;
    const items = value.map((one) => item(one, key));
    return items.includes(undefined) ? undefined : items;
  };
}

function offsetsOf(value: unknown, key: string, most: number): OffsetSet | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    const offsets = OffsetSet.decode(value);
    if (offsets.size <= most) return offsets;
    throw new RangeError(`${offsets.size} offsets are more than the ${most} that a job may name`);
  } catch (error) {
    throw unreadable(key, `holds a broken offset set: ${(error as Error).message}`);
  }
}

const META: Spec<Meta> = { format: count, group: text, source: text, shards: count, kind: text };
const OWNER: Spec<OwnerRecord> = { instance: text, claim: text, atMs: count };
const LAST: Spec<NonNullable<PartitionProgress['last']>> = { offset: count, timestampMs: number };
const PROGRESS: Spec<Required<PartitionProgress>> = {
  seq: count,
  watermark: count,
  claimed: (value, key) => offsetsOf(value, key, Infinity),
  replay: count,
  read: count,
  last: (value, key) => (value === null ? null : fieldsOf(value, `${key}.last`, LAST)),
  start: optional(count),
  inherited: (value) => (value === true ? value : ABSENT),
};
const SOURCE: Spec<JobSource> = {
  partition: count,
  replay: count,
  offsets: (value, key) => offsetsOf(value, key, MAX_OFFSETS) && value,
};
/** 16 bytes in base64url. */
const ROW_KEY = /^[\w-]{22}$/;
const JOB: Spec<Required<Omit<JobRecord, 'id'>>> = {
  remoteId: text,
  kind: text,
  type: text,
  attempt: count,
  depth: count,
  spent: count,
  root: text,
  sequence: count,
  count,
  bytes: count,
  createdMs: count,
  oldestEventMs: number,
  newestEventMs: number,
  rowKey: optional((value) =>
    typeof value === 'string' && ROW_KEY.test(value) ? value : undefined,
  ),
  sources: listOf((source, key) => fieldsOf(source, key, SOURCE)),
};

interface Left {
  readonly left: CoordinateSet;
}
const pairs = listOf((pair, key) => {
  const [partition, offsets] = Array.isArray(pair) ? pair : [];
  const set = Number.isSafeInteger(partition) && offsetsOf(offsets, key, MAX_OFFSETS);
  return set ? [partition, set] : undefined;
});
const LEFT: Spec<Left> = {
  left: (value, key) => {
    const sets = pairs(value, key) as [number, OffsetSet][] | undefined;
    return sets && CoordinateSet.fromSets(sets);
  },
};

const atMost =
  (characters: number): Reader =>
  (value) =>
    typeof value === 'string' && value.length <= characters ? value : undefined;
/** A hold with the longest texts, each character as an escape, takes 4,000. */
const MAX_CONTROL_CHARACTERS = 16 * 1024;
const HOLD: Spec<Required<Hold>> = {
  state: (value) => (value === 'paused' || value === 'draining' ? value : undefined),
  atMs: count,
  by: atMost(MAX_BY_CHARACTERS),
  reason: optional(atMost(MAX_REASON_CHARACTERS)),
};
const hold = optional((value, key) => fieldsOf(value, key, HOLD));
const CONTROL: Spec<Required<Control>> = {
  // 0 stands for no command.
  revision: (value, key) => count(value, key) || undefined,
  hold,
};
const ACKNOWLEDGEMENT: Spec<Required<Acknowledgement>> = {
  revision: count,
  hold,
  atMs: count,
  drained: (value) => (typeof value === 'boolean' ? value : undefined),
};

const unreadable = (key: string, problem: string): JournalFormatError =>
  new JournalFormatError(`the journal's record ${quote(key)} ${problem}`);

const quote = (value: string): string => JSON.stringify(value.slice(0, 200));
