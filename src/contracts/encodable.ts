/**
 * Terminal records in the forms of contracts/avro and contracts/protobuf, made from their JSON
 * text. Nothing is lost but lone surrogates outside JSON text, which UTF-8 cannot hold: U+FFFD is
 * in their place.
 */
import { parseKeepingDigits } from '../../packages/client/src/base/json/parse-json.ts';
import { memberSpan } from './json-member.ts';

type TerminalForm = Readonly<Record<string, unknown>>;

interface TerminalMembers {
  readonly labels?: readonly TerminalForm[];
  /** Its JSON text, as it stands. */
  readonly metadata?: string;
  readonly source: TerminalForm & { readonly timestamp: string | null };
  readonly decided_at: string;
  readonly [member: string]: unknown;
}

/**
 * Form that an Avro encoder takes for contracts/avro/*.avsc: unions bare, not wrapped; instants in
 * milliseconds.
 * @param json of a decision, looked-up decision or receipt. @throws SyntaxError when it is no JSON
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
 * Form that protobufjs's `fromObject` takes for contracts/protobuf/*.proto, parsed with
 * `keepCase`: names as in the file, enum values by name; null is not set.
 * @param json of a decision, looked-up decision or receipt. @throws SyntaxError when it is no JSON
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

/** Parses all but the metadata, with texts that UTF-8 can hold. */
function parsed(json: string): TerminalMembers {
  const at = memberSpan(json, 'metadata');
  const rest = at === undefined ? json : `${json.slice(0, at.start)}null${json.slice(at.end)}`;
  const { labels, ...others } = parseKeepingDigits(rest) as TerminalMembers;
  return {
    ...(wellFormed(others) as TerminalMembers),
    ...(labels && { labels }),
    ...(at && { metadata: json.slice(at.start, at.end).trim() }),
  };
}

/** @param extra name of the field for all else that the service reported of it */
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
