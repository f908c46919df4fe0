/**
 * Terminal records in the forms of contracts/avro and contracts/protobuf, made from their JSON text. Nothing is lost but lone
 * surrogates outside JSON text, which UTF-8 cannot hold: U+FFFD stands in their place.
 */
import { mayLoseDigits, parseKeepingDigits } from '../base/exact-json.ts';
import { memberSpan } from './json-member.ts';

type Members = Readonly<Record<string, unknown>>;

interface TerminalMembers {
  readonly status: string;
  readonly labels?: readonly Members[];
  /** Its JSON text, as it stands. */
  readonly metadata?: string;
  readonly error: Members | null;
  readonly source: Members & { readonly timestamp: string | null };
  readonly decided_at: string;
  readonly [member: string]: unknown;
}

/**
 * What an Avro encoder takes for contracts/avro/*.avsc: unions bare, not wrapped; instants in milliseconds.
 * @param json of a decision, looked-up decision or receipt. @throws SyntaxError when it is no JSON
 */
export function avroForm(json: string): Members {
  const { labels, metadata, source, decided_at, ...rest } = parsed(json);
  return {
    ...wellFormed(rest),
    ...(labels === undefined ? {} : { labels: labels.map((label) => labelForm(label, 'extra')) }),
    ...(metadata === undefined ? {} : { metadata }),
    source: { ...wellFormed(source), timestamp: millisecondsOf(source.timestamp) },
    decided_at: millisecondsOf(decided_at),
  };
}

/**
 * What protobufjs's `fromObject` takes for contracts/protobuf/*.proto, parsed with `keepCase`: names as in the file, enum
 * values by name.
 * @param json of a decision, looked-up decision or receipt. @throws SyntaxError when it is no JSON
 */
export function protobufForm(json: string): Members {
  const { status, labels, metadata, source, decided_at, ...rest } = parsed(json);
  const { timestamp, ...coordinates } = source;
  return withoutNulls({
    ...wellFormed(rest),
    status: `STATUS_${status}`,
    ...(labels === undefined
      ? {}
      : { labels: labels.map((label) => withoutNulls(labelForm(label, 'extra_json'))) }),
    ...(metadata === undefined ? {} : { metadata_json: metadata }),
    source: withoutNulls({ ...wellFormed(coordinates), timestamp_ms: millisecondsOf(timestamp) }),
    decided_at_ms: millisecondsOf(decided_at),
  });
}

/** Metadata is not looked into: only the rest is parsed, and hardly any needs the parser that keeps digits, which is many times slower. */
function parsed(json: string): TerminalMembers {
  const at = memberSpan(json, 'metadata');
  const rest = at === undefined ? json : `${json.slice(0, at.start)}null${json.slice(at.end)}`;
  const members = (
    mayLoseDigits(rest) ? parseKeepingDigits(rest) : JSON.parse(rest)
  ) as TerminalMembers;
  return at === undefined ? members : { ...members, metadata: json.slice(at.start, at.end).trim() };
}

/** @param rest name of the field for what else the service said of it */
function labelForm({ name, applied, explanation, ...more }: Members, rest: string): Members {
  return {
    ...wellFormed({ name, applied, explanation }),
    [rest]: Object.keys(more).length === 0 ? null : JSON.stringify(more),
  };
}

const millisecondsOf = (instant: string | null): number | null =>
  instant === null ? null : Date.parse(instant);

/** With texts that UTF-8 can hold, one level deeper too. */
function wellFormed(members: Members): Members {
  return mapped(members, (value) => {
    if (typeof value === 'string') return value.toWellFormed();
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? wellFormed(value as Members)
      : value;
  });
}

/** Protobuf has no null: what is not set is not there. */
const withoutNulls = (members: Members): Members =>
  Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      if (value === null) return [];
      return [[name, isPlain(value) ? withoutNulls(value) : value]];
    }),
  );

const isPlain = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const mapped = (members: Members, change: (value: unknown) => unknown): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]));
