/** Records that Confluent's Python client wrote (test/fixtures/registry), adapted to the schema ids of another registry. */
import { readFileSync } from 'node:fs';
import type {
  NewSchema,
  SchemaReference,
  SchemaRegistry,
} from '../../../src/events/registry/index.ts';

const FILE = new URL('../../fixtures/registry/fixtures.json', import.meta.url);
const { answers, records } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly answers: Readonly<Record<string, Answer>>;
  readonly records: readonly (Omit<ConfluentRecord, 'value'> & { readonly value: string })[];
};

/** Response of a registry. */
interface Answer {
  readonly schema: string;
  readonly schemaType?: NewSchema['type'];
  readonly references?: readonly SchemaReference[];
}

export interface ConfluentRecord {
  readonly name: string;
  readonly format: 'avro' | 'json-schema' | 'protobuf';
  readonly value: Buffer;
  /** Event as JSON text, or null if the record cannot be an event. */
  readonly expected: string | null;
}

/** Registers the schemas of the records and returns the records with the ids in this registry. */
export async function confluentRecords(
  registry: SchemaRegistry,
  signal: AbortSignal,
): Promise<ConfluentRecord[]> {
  const ids = new Map<number, number>();
  const found: ConfluentRecord[] = [];
  for (const record of records) {
    const value = Buffer.from(record.value, 'base64');
    const was = value.readInt32BE(1);
    const id =
      ids.get(was) ?? (await register(registry, `/schemas/ids/${was}`, `fixture-${was}`, signal));
    ids.set(was, id);
    value.writeInt32BE(id, 1);
    found.push({ ...record, value });
  }
  return found;
}

/** Registers a schema with its references, which the fixtures contain under the same subjects. */
async function register(
  registry: SchemaRegistry,
  path: string,
  subject: string,
  signal: AbortSignal,
): Promise<number> {
  const { schema: text, schemaType: type = 'AVRO', references = [] } = answers[path] as Answer;
  for (const { subject: other, version } of references) {
    await register(
      registry,
      `/subjects/${encodeURIComponent(other)}/versions/${version}`,
      other,
      signal,
    );
  }
  return await registry.register(subject, { type, text, references }, signal);
}
