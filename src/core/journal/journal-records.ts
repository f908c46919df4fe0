/**
 * Records of the journal. Keys never change. Values are JSON with a version.
 *
 * | key             | value                                                             |
 * |-----------------|-------------------------------------------------------------------|
 * | `meta`          | group, source topic, number of shards, kind, format               |
 * | `owner`         | instance, claim id, time: the barrier of a claim                  |
 * | `progress/<p>`  | seq; W, claimed offsets ≥ W, replay count, position, last, start  |
 * | `job/<id>`      | JobRecord                                                         |
 * | `job/<id>/left` | offsets still to be settled; whether their job was uploaded       |
 * | `quota`         | rows submitted in the last minute and day                         |
 * | `control`       | whether the pipeline is paused or drained: an operator's command  |
 * | `control/ack`   | the acknowledgement of the command by the shard's owner           |
 *
 * A transaction writes one progress record for each partition that moved. No record grows with the
 * number of partitions in a shard (ADR 0003).
 */
import * as v from 'valibot';
import { isObject } from '../../../packages/client/src/base/json/json-values.ts';
import { tryParseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { OffsetSet } from '../offset-set.ts';
import type { JournalWrite } from '../ports/kafka.ts';
import {
  type Acknowledgement,
  type Control,
  MAX_BY_CHARACTERS,
  MAX_REASON_CHARACTERS,
} from './control.ts';
import { CoordinateSet, type JobRecord } from './job.ts';
import type { QuotaRecord } from './quota.ts';

/** The format that this version writes, and the newest that it reads. */
export const JOURNAL_FORMAT = 1;
/** Maximum number of offsets of a job. A corrupt record could contain far too many. */
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
  /** Sequence number of the shard's progress. The metadata of the group's commits has it too. */
  readonly seq: number;
  /** W: every record below this offset is settled or in a live job. */
  readonly watermark: number;
  /** Offsets ≥ W that are settled, in a live job, or without a record. */
  readonly claimed: OffsetSet;
  /** Number of resets of the group for this partition. */
  readonly replay: number;
  /** Position of intake. Records below it that the next owner reads again were already in a buffer. */
  readonly read: number;
  /** Newest claimed record. If another record is at its offset later, the topic was created again. */
  readonly last: { readonly offset: number; readonly timestampMs: number } | null;
  /** First offset for which the pipeline is responsible. */
  readonly start: number;
  /** True if the group committed `start` before this journal existed, which therefore lacks earlier records. */
  readonly inherited?: true;
}

type Meta = JournalMeta & { readonly format: number };

export type JournalEntry =
  | { readonly entry: 'meta'; readonly value: Meta }
  | { readonly entry: 'owner'; readonly value: OwnerRecord }
  | { readonly entry: 'progress'; readonly partition: number; readonly value: PartitionProgress }
  | { readonly entry: 'job'; readonly id: string; readonly value: JobRecord | null }
  | {
      readonly entry: 'left';
      readonly id: string;
      readonly value: CoordinateSet | null;
      readonly isUploaded?: boolean;
    }
  | { readonly entry: 'quota'; readonly value: QuotaRecord }
  /** undefined if the record is malformed. It is then ignored, because a command must not stop a shard. */
  | { readonly entry: 'control'; readonly value: Control | undefined }
  | { readonly entry: 'control/ack'; readonly value: Acknowledgement | undefined };

/** Maximum number of seconds in a quota record: a minute, and room for clocks that differ. */
const MAX_SECONDS = 100;

/** The journal has a record that this version cannot read. Nothing may be fenced or written then. */
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
export const writeLeft = (id: string, left: CoordinateSet, isUploaded = false): JournalWrite =>
  write(`job/${id}/left`, {
    left: left.entries().map(([partition, offsets]) => [partition, offsets.encode()]),
    ...(isUploaded && { uploaded: true }),
  });
/** Tombstones of a job and its remainder. */
export const writeJobEnd = (id: string): [JournalWrite, JournalWrite] => [
  write(`job/${id}`, null),
  write(`job/${id}/left`, null),
];
export const writeProgress = (partition: number, progress: PartitionProgress): JournalWrite =>
  write(`progress/${partition}`, { ...progress, claimed: progress.claimed.encode() });

export const writeQuota = (spent: QuotaRecord): JournalWrite => write('quota', spent);
export const writeControl = (control: Control): JournalWrite => write(CONTROL_KEY, control);
export const writeAcknowledgement = (answer: Acknowledgement): JournalWrite =>
  write('control/ack', answer);

/** Key of commands. A shard's owner looks for this key in every record written to its journal partition. */
export const CONTROL_KEY = 'control';

const KEY = /^(?:(meta|owner|quota)|progress\/(\d+)|job\/([^/]+?)(\/left)?)$/;

/**
 * Reads one record of the journal.
 * @throws JournalFormatError for a newer format, an unknown key, or an invalid value
 */
export function readJournalRecord(key: string, text: string | null): JournalEntry {
  if (key === CONTROL_KEY)
    return { entry: key, value: readable(CONTROL, key, text) as Control | undefined };
  if (key === 'control/ack') {
    const value = readable(ACKNOWLEDGEMENT, key, text) as Acknowledgement | undefined;
    return { entry: key, value };
  }
  const known = KEY.exec(key);
  if (known === null)
    throw new JournalFormatError(
      `the journal has a record with the unknown key ${quote(key)}: a newer version or another application wrote it`,
    );
  const [, single, partition, id = '', isLeft] = known;
  if (text === null) {
    if (id !== '') return { entry: isLeft ? 'left' : 'job', id, value: null };
    throw new JournalFormatError(
      `the journal has a tombstone for ${quote(key)}, a record that must never be deleted`,
    );
  }
  const value = parsed(key, text);
  if (single === 'meta') return { entry: single, value: read(META, key, value) };
  if (single === 'quota') return { entry: single, value: read(QUOTA, key, value) };
  if (single === 'owner') return { entry: single, value: read(OWNER, key, value) };
  if (partition !== undefined) {
    const progress = read(PROGRESS, key, value) as PartitionProgress;
    return { entry: 'progress', partition: Number(partition), value: progress };
  }
  if (isLeft) {
    const { left, uploaded = false } = read(LEFT, key, value);
    return { entry: 'left', id, value: CoordinateSet.fromSets(left), isUploaded: uploaded };
  }
  return { entry: 'job', id, value: { id, ...read(JOB, key, value) } as JobRecord };
}

/** Parses a value and checks its version. */
function parsed(key: string, text: string): object {
  const foreign = 'is another application writing to this topic?';
  const value = tryParseJson(text);
  if (value === undefined) throw unreadable(key, `is not JSON: ${foreign}`);
  if (!isObject(value)) throw unreadable(key, `is not a JSON object: ${foreign}`);
  const { v: format } = read(VERSION, key, value);
  if (format > JOURNAL_FORMAT)
    throw unreadable(
      key,
      `has format ${format}; this version reads up to ${JOURNAL_FORMAT}. Run the version that wrote it, or a newer one.`,
    );
  return { ...value, format };
}

/** @throws JournalFormatError that names the key and the field, never other contents */
function read<T>(schema: v.GenericSchema<unknown, T>, key: string, value: unknown): T {
  // The library's own messages would contain the value.
  const { success, output, issues } = v.safeParse(schema, value, { abortEarly: true, message: '' });
  if (success) return output;
  const [issue] = issues;
  throw unreadable(key, issue.message || `has no valid field ${quote(v.getDotPath(issue) ?? '')}`);
}

/** Returns the value, or undefined if it is invalid. */
function readable(schema: v.GenericSchema, key: string, text: string | null): unknown {
  if (text === null || text.length > MAX_CONTROL_CHARACTERS) return undefined;
  try {
    return read(schema, key, parsed(key, text));
  } catch (error) {
    if (error instanceof JournalFormatError) return undefined;
    throw error;
  }
}

/** Schema of an encoded offset set. @param most maximum number of offsets in the set */
const offsets = (most: number) =>
  v.pipe(
    v.string(),
    v.rawTransform(({ dataset, addIssue, NEVER }): OffsetSet => {
      try {
        const set = OffsetSet.decode(dataset.value);
        if (set.size <= most) return set;
        throw new RangeError(`${set.size} offsets exceed the maximum of ${most} for a job`);
      } catch (error) {
        addIssue({ message: `has an invalid offset set: ${(error as Error).message}` });
        return NEVER;
      }
    }),
  );

const jobOffsets = offsets(MAX_OFFSETS);
/** Schema of an offset set that stays encoded. */
const encodedOffsets = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const { issues } = v.safeParse(jobOffsets, dataset.value);
    if (issues !== undefined) addIssue({ message: issues[0].message });
  }),
);

const text = v.string();
const integer = v.pipe(v.number(), v.safeInteger());
const count = v.pipe(integer, v.minValue(0));
/** Time in ms. A producer's timestamps may be negative. */
const time = v.pipe(v.number(), v.finite());
const flag = v.fallback(v.optional(v.literal(true)), undefined);

const VERSION = v.object({ v: count });
const META = v.object({ format: count, group: text, source: text, shards: count, kind: text });
const rowsAt = v.strictTuple([count, count]);
const QUOTA = v.object({ seconds: v.pipe(v.array(rowsAt), v.maxLength(MAX_SECONDS)), day: rowsAt });
const OWNER = v.object({ instance: text, claim: text, atMs: count });
const PROGRESS = v.object({
  seq: count,
  watermark: count,
  claimed: offsets(Infinity),
  replay: count,
  read: count,
  last: v.nullable(v.object({ offset: count, timestampMs: time })),
  start: count,
  inherited: flag,
});
const JOB = v.object({
  remoteId: text,
  kind: text,
  type: text,
  lane: v.optional(text),
  attempt: count,
  depth: count,
  spent: count,
  root: text,
  sequence: count,
  count,
  bytes: count,
  createdMs: count,
  oldestEventMs: time,
  newestEventMs: time,
  /** Key of 16 bytes in base64url. */
  rowKey: v.optional(v.pipe(text, v.regex(/^[\w-]{22}$/))),
  sources: v.array(v.object({ partition: count, replay: count, offsets: encodedOffsets })),
});
const pair = v.pipe(v.array(v.unknown()), v.length(2), v.tuple([integer, jobOffsets]));
const LEFT = v.object({ left: v.array(pair), uploaded: flag });

/** Maximum length of a command. A hold with the longest strings takes 4,000 characters if all are escaped. */
const MAX_CONTROL_CHARACTERS = 16 * 1024;
const hold = v.optional(
  v.object({
    state: v.picklist(['paused', 'draining']),
    atMs: count,
    by: v.pipe(text, v.maxLength(MAX_BY_CHARACTERS)),
    reason: v.optional(v.pipe(text, v.maxLength(MAX_REASON_CHARACTERS))),
  }),
);
/** Revision 0 means that there was no command. */
const CONTROL = v.object({ revision: v.pipe(count, v.minValue(1)), hold });
const ACKNOWLEDGEMENT = v.object({ revision: count, hold, atMs: count, drained: v.boolean() });

const unreadable = (key: string, problem: string): JournalFormatError =>
  new JournalFormatError(`the journal's record ${quote(key)} ${problem}`);

const quote = (value: string): string => JSON.stringify(value.slice(0, 200));
