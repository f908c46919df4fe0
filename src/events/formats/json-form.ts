/** Conversion of terminal records between their JSON form and decoded Avro or Protobuf. */
import { writtenText } from '../../../packages/client/src/base/json/json-text.ts';
import {
  parseJson,
  parseKeepingDigits,
} from '../../../packages/client/src/base/json/parse-json.ts';
import {
  JsonScanner,
  MISSING,
  type ScannedValue,
} from '../../../packages/client/src/base/json/scanner.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members that the JSON form leaves out if they have no value. */
const OPTIONAL = ['service_status', 'labels_raw', 'content', 'key_encoding'];
/** Members that are null in the JSON form if they have no value. The first name of a list identifies the contract. */
const NULLABLE = [
  ['decision_id', 'decision_status', 'result', 'error'],
  ['batch', 'result', 'expected_result', 'error'],
  ['attempt', 'import_id', 'import_status', 'error'],
];

/**
 * Returns the JSON form of a terminal record.
 * @param decoded record from the Avro or Protobuf codec of a contract
 * @throws SyntaxError, TypeError or RangeError for any other record
 */
export function jsonForm(decoded: Members): Members {
  const { labels, metadata, metadata_json = metadata, source, batch, error, ...rest } = decoded;
  const { decided_at, decided_at_ms = decided_at, ...plain } = rest;
  const { timestamp, timestamp_ms = timestamp, ...coordinates } = source as Members;
  const nullable = NULLABLE.find(([name = '']) => decoded[name] != null) ?? [];
  return {
    ...withNulls({ ...plain, error: error && { ...error }, batch }, nullable),
    ...(Array.isArray(labels) && { labels: labels.map(label) }),
    ...(typeof metadata_json === 'string' && { metadata: parseJson(metadata_json) }),
    ...(batch != null && { batch: withNulls({ ...batch }, ['id']) }),
    source: {
      ...withNulls({ ...coordinates, offset: Number(coordinates.offset) }, ['key']),
      timestamp: timestamp_ms == null ? null : instant(timestamp_ms),
    },
    decided_at: instant(decided_at_ms),
  };
}

function label({ name, applied, explanation, extra, extra_json = extra }: Members): Members {
  const more = typeof extra_json === 'string' ? (parseJson(extra_json) as Members) : {};
  return { name, applied, explanation: explanation ?? null, ...more };
}

function withNulls(members: Members, nullable: readonly string[]): Members {
  const present = Object.entries(members).filter(
    ([name, value]) => value !== undefined && (value !== null || !OPTIONAL.includes(name)),
  );
  return Object.fromEntries([
    ...nullable.map((name) => [name, null]),
    ...present.filter(([name, value]) => value !== null || nullable.includes(name)),
  ]);
}

/** @param ms number, or a 64-bit integer that converts to a decimal string */
const instant = (ms: unknown): string => new Date(Number(String(ms))).toISOString();

// Converts terminal records from their JSON form to the forms of contracts/avro and
// contracts/protobuf. Outside of members that stay JSON, lone surrogates become U+FFFD, because
// UTF-8 cannot represent them.

type TerminalForm = Readonly<Record<string, unknown>>;

interface TerminalMembers {
  readonly labels?: readonly TerminalForm[];
  /** Metadata as unchanged JSON text. */
  readonly metadata?: string;
  readonly source: TerminalForm & { readonly timestamp: string | null };
  readonly decided_at: string;
  readonly [member: string]: unknown;
}

/**
 * Returns the input of an Avro encoder for contracts/avro/*.avsc. Unions are not wrapped. Instants
 * are in milliseconds.
 * @param json decision, looked-up decision or receipt
 * @throws SyntaxError if it is not JSON
 */
export function avroForm(json: string): TerminalForm {
  const { labels, source, decided_at, ...rest } = parsed(json);
  return {
    ...rest,
    ...(labels && { labels: labels.map((label) => labelForm(label, 'extra')) }),
    source: { ...source, timestamp: millisecondsOf(source.timestamp) },
    decided_at: millisecondsOf(decided_at),
  };
}

/**
 * Returns the input of protobufjs's `fromObject` for contracts/protobuf/*.proto, parsed with
 * `keepCase`: field names as in the file, enum values by name. null means that a field is not set.
 * @param json decision, looked-up decision or receipt
 * @throws SyntaxError if it is not JSON
 */
export function protobufForm(json: string): TerminalForm {
  const { status, labels, metadata, source, decided_at, ...rest } = parsed(json);
  return {
    ...rest,
    status: `STATUS_${status}`,
    ...(labels && { labels: labels.map((label) => labelForm(label, 'extra_json')) }),
    metadata_json: metadata,
    source: { ...source, timestamp_ms: millisecondsOf(source.timestamp) },
    decided_at_ms: millisecondsOf(decided_at),
  };
}

const scanner = new JsonScanner([['metadata']]);
const [found] = scanner.values as [ScannedValue];

/** Parses everything except the metadata, with texts that UTF-8 can represent. */
function parsed(json: string): TerminalMembers {
  const bytes = Buffer.from(json);
  if (scanner.scan(bytes) !== undefined) throw new SyntaxError('the record is not JSON');
  const isMissing = found.type === MISSING;
  const { start, end } = isMissing ? { start: 0, end: 0 } : found;
  const rest = `${bytes.toString('utf8', 0, start)}${isMissing ? '' : 'null'}${bytes.toString('utf8', end)}`;
  const { labels, ...others } = parseKeepingDigits(rest) as TerminalMembers;
  return {
    ...(wellFormed(others) as TerminalMembers),
    ...(labels && { labels }),
    ...(!isMissing && { metadata: writtenText(found) }),
  };
}

/** @param extra name of the field that receives the label's other members */
function labelForm(
  { name, applied, explanation, ...more }: TerminalForm,
  extra: string,
): TerminalForm {
  return {
    ...(wellFormed({ name, applied, explanation }) as TerminalForm),
    [extra]: Object.keys(more).length === 0 ? null : JSON.stringify(more),
  };
}

const millisecondsOf = (instant: string | null): number | null =>
  instant === null ? null : Date.parse(instant);

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, wellFormed(member)]),
  );
}
