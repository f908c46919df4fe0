/** Terminal records as their JSON has them, made from decoded Avro and Protobuf: the reverse of encodable.ts. */
import { parseJson } from '../../packages/client/src/base/json/parse-json.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members that JSON leaves out instead of null. */
const OPTIONAL = ['service_status', 'labels_raw', 'content', 'key_encoding'];
/** Members that are null instead of missing; the first name identifies the contract. */
const NULLABLE = [
  ['decision_id', 'decision_status', 'result', 'error'],
  ['batch', 'result', 'expected_result', 'error'],
  ['attempt', 'import_id', 'import_status', 'error'],
];

/**
 * @param decoded members as an Avro or Protobuf codec of contracts/ returns them
 * @throws SyntaxError, TypeError or RangeError for another record
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

/** @param ms number, or a 64-bit integer with a decimal text */
const instant = (ms: unknown): string => new Date(Number(String(ms))).toISOString();
