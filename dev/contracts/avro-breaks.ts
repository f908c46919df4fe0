/** Changes of an Avro schema that break those who hold the published one, or records written under it. */
import avro from 'avsc';
import type { Break } from './break.ts';

interface AvroField {
  readonly name: string;
  readonly type: AvroSchema;
}

interface AvroObject {
  readonly type: AvroSchema;
  readonly name?: string;
  readonly namespace?: string;
  readonly logicalType?: string;
  readonly fields?: readonly AvroField[];
  readonly symbols?: readonly string[];
  readonly items?: AvroSchema;
  readonly values?: AvroSchema;
}

export type AvroSchema = string | AvroObject | readonly AvroSchema[];

/** Both ways: consumers upgrade when they like, and old records stay on the topic. */
export function avroBreaks(published: AvroSchema, current: AvroSchema): Break[] {
  const breaks = missing(published, current, '');
  if (breaks.length > 0) return breaks;
  const [older, newer] = [
    avro.Type.forSchema(published as avro.Schema),
    avro.Type.forSchema(current as avro.Schema),
  ];
  return [
    ...unreadable(
      older,
      newer,
      'readers with the published schema cannot read what is written under this one',
    ),
    ...unreadable(
      newer,
      older,
      'readers with this schema cannot read what was written under the published one',
    ),
  ];
}

function unreadable(reader: avro.Type, writer: avro.Type, what: string): Break[] {
  try {
    reader.createResolver(writer);
    return [];
  } catch (error) {
    return [{ at: '/', what: `${what}: ${(error as Error).message}` }];
  }
}

/**
 * Changes that schema resolution accepts but consumers rely on: fields that a default would
 * replace, names, what a number means.
 */
function missing(older: AvroSchema, newer: AvroSchema, at: string): Break[] {
  const where = at === '' ? '/' : at;
  if (typeof older === 'string') {
    const now = nameOf(newer);
    if (
      typeof newer === 'object' &&
      !Array.isArray(newer) &&
      (newer as AvroObject).logicalType !== undefined
    )
      return [
        {
          at: where,
          what: `was ${older}, and is of the logical type ${(newer as AvroObject).logicalType}`,
        },
      ];
    // Other changes are the resolver's to judge: int may become long for new readers, and not for old ones.
    return now === older || typeof newer !== 'string'
      ? []
      : [{ at: where, what: `was ${older}, and is ${now}` }];
  }
  if (isUnion(older)) {
    const branches: readonly AvroSchema[] = isUnion(newer) ? newer : [newer];
    return older.flatMap((branch) => {
      const same = branches.find((one) => nameOf(one) === nameOf(branch));
      if (same === undefined) return [{ at: where, what: `may no longer be ${nameOf(branch)}` }];
      return missing(branch, same, at);
    });
  }
  if (typeof newer === 'string' || isUnion(newer))
    return [{ at: where, what: `was ${nameOf(older)}, and is ${nameOf(newer)}` }];
  const breaks: Break[] = [];
  for (const part of ['name', 'namespace', 'logicalType'] as const) {
    if (older[part] !== newer[part])
      breaks.push({
        at: where,
        what: `the ${part} was ${older[part] ?? 'not set'}, and is ${newer[part] ?? 'not set'}`,
      });
  }
  for (const { name, type } of older.fields ?? []) {
    const now = newer.fields?.find((field) => field.name === name);
    if (now === undefined)
      breaks.push({ at: `${at}/${name}`, what: 'was removed: consumers would miss it' });
    else breaks.push(...missing(type, now.type, `${at}/${name}`));
  }
  const gone = (older.symbols ?? []).filter((symbol) => newer.symbols?.includes(symbol) !== true);
  if (gone.length > 0)
    breaks.push({
      at: where,
      what: `no longer has ${gone.join(', ')}: old records would be read as the default`,
    });
  if (older.items !== undefined)
    breaks.push(...missing(older.items, newer.items ?? 'nothing', `${at}[]`));
  if (older.values !== undefined)
    breaks.push(...missing(older.values, newer.values ?? 'nothing', `${at}{}`));
  return breaks;
}

const isUnion = (schema: AvroSchema): schema is readonly AvroSchema[] => Array.isArray(schema);

function nameOf(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema;
  if (isUnion(schema)) return `one of ${schema.map(nameOf).join(', ')}`;
  return schema.name ?? nameOf(schema.type);
}
