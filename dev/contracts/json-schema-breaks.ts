/**
 * Which records that a writer may write under one JSON Schema would not fit another. Knows the keywords that contracts/ uses;
 * any other that was changed counts as a break, because it cannot be decided.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Break } from './break.ts';
import type { Direction } from './contracts.ts';
import { type JsonSchema, resolved } from './json-schema.ts';

/** They change no record. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$defs',
  '$comment',
  'title',
  'description',
  'examples',
  'default',
  'deprecated',
]);
/** Compared by functions of their own. */
const COMPARED = new Set([
  '$ref',
  'type',
  'enum',
  'const',
  'properties',
  'required',
  'items',
  'anyOf',
  'oneOf',
]);
const LOWER_BOUNDS = new Set([
  'minimum',
  'exclusiveMinimum',
  'minLength',
  'minItems',
  'minProperties',
]);
const UPPER_BOUNDS = new Set([
  'maximum',
  'exclusiveMaximum',
  'maxLength',
  'maxItems',
  'maxProperties',
]);

interface Side {
  readonly root: JsonSchema;
  readonly schema: JsonSchema;
}

interface Comparison {
  readonly reader: Side;
  readonly writer: Side;
  /** Name of the reading side, for messages. */
  readonly who: string;
  /**
   * True if a member that the reader knows and the writer does not is a break: it was taken away.
   */
  readonly removal: boolean;
}

/**
 * @param direction of what the connector writes, old consumers must understand new records, and new consumers the old ones
 * that are still on the topic; of what it reads, it must understand what old producers write
 */
export function jsonSchemaBreaks(
  published: JsonSchema,
  current: JsonSchema,
  direction: Direction,
): Break[] {
  const [older, newer] = [side(published), side(current)];
  const breaks: Break[] = [];
  if (published.$id !== current.$id)
    breaks.push({ at: '$id', what: `was "${published.$id}": consumers refer to it` });
  if (direction === 'input') {
    breaks.push(...removed(older, newer, ''));
    return [
      ...breaks,
      ...unreadable(
        {
          reader: newer,
          writer: older,
          who: 'the connector, of what producers send',
          removal: false,
        },
        '',
      ),
    ];
  }
  breaks.push(
    ...unreadable(
      {
        reader: older,
        writer: newer,
        who: 'consumers that know the published version',
        removal: true,
      },
      '',
    ),
  );
  if (breaks.length > 0) return breaks;
  const who = 'consumers of the new version, of records written before';
  return unreadable({ reader: newer, writer: older, who, removal: false }, '');
}

const side = (root: JsonSchema): Side => ({ root, schema: root });
const within = ({ root }: Side, schema: JsonSchema): Side => ({
  root,
  schema: resolved(schema, root),
});

/** Members that the newer one no longer describes, at any depth that both have. */
function removed(older: Side, newer: Side, at: string): Break[] {
  return Object.entries(older.schema.properties ?? {}).flatMap(([name, member]) => {
    const now = newer.schema.properties?.[name];
    if (now === undefined)
      return [
        { at: `${at}/${name}`, what: 'was removed: what producers send there would be ignored' },
      ];
    return removed(within(older, member), within(newer, now), `${at}/${name}`);
  });
}

/** Each case of the writer must fit some case of the reader; what is wrong is said of the one that it fits best. */
function unreadable(comparison: Comparison, at: string): Break[] {
  const breaks = casesOf(comparison.writer).flatMap((writer) => {
    const attempts = casesOf(comparison.reader).map((reader) =>
      misfits({ ...comparison, reader, writer }, at),
    );
    return attempts.reduce((best, one) => (one.length < best.length ? one : best));
  });
  return [...new Map(breaks.map((one) => [JSON.stringify(one), one])).values()];
}

/** A schema without anyOf and oneOf for each of their alternatives. */
function casesOf({ root, schema }: Side): Side[] {
  const { anyOf, oneOf, ...common } = schema;
  const alternatives = anyOf ?? oneOf;
  if (alternatives === undefined) return [{ root, schema }];
  return alternatives.map((alternative) => {
    const one = resolved(alternative, root);
    const properties = { ...common.properties, ...one.properties };
    const required = [...new Set([...(common.required ?? []), ...(one.required ?? [])])];
    return {
      root,
      schema: {
        ...common,
        ...one,
        ...(Object.keys(properties).length === 0 ? {} : { properties }),
        ...(required.length === 0 ? {} : { required }),
      },
    };
  });
}

function misfits(comparison: Comparison, at: string): Break[] {
  const { reader, writer, who } = comparison;
  const breaks: Break[] = [];
  const broken = (what: string, where = at) =>
    breaks.push({ at: where === '' ? '/' : where, what: `${what}: it breaks ${who}` });

  const types = typesOf(writer.schema);
  const wanted = typesOf(reader.schema);
  if (wanted !== undefined) {
    const more = types?.filter(
      (type) => !wanted.includes(type) && !(type === 'integer' && wanted.includes('number')),
    );
    if (more === undefined) broken(`may be of any type, and must be ${wanted.join(' or ')}`);
    else if (more.length > 0)
      broken(`may be ${more.join(' or ')}, and must be ${wanted.join(' or ')}`);
  }
  const values = valuesOf(writer.schema);
  const known = valuesOf(reader.schema);
  if (known !== undefined) {
    const more = values?.filter((value) => !known.some((other) => isDeepStrictEqual(value, other)));
    if (more === undefined)
      broken(`may have any value, and must be one of ${JSON.stringify(known)}`);
    else if (more.length > 0)
      broken(
        `may be ${more.map((value) => JSON.stringify(value)).join(', ')}, which is not known there`,
      );
  }
  for (const name of reader.schema.required ?? [])
    if (writer.schema.required?.includes(name) !== true)
      broken('is required, and may be missing', `${at}/${name}`);
  for (const [name, member] of Object.entries(reader.schema.properties ?? {})) {
    const written = writer.schema.properties?.[name];
    if (written !== undefined) {
      breaks.push(
        ...unreadable(
          { ...comparison, reader: within(reader, member), writer: within(writer, written) },
          `${at}/${name}`,
        ),
      );
    } else if (comparison.removal) broken('was removed', `${at}/${name}`);
  }
  if (reader.schema.items !== undefined) {
    const items = {
      ...comparison,
      reader: within(reader, reader.schema.items),
      writer: within(writer, writer.schema.items ?? {}),
    };
    breaks.push(...unreadable(items, `${at}[]`));
  }
  for (const [keyword, bound] of Object.entries(reader.schema)) {
    if (ANNOTATIONS.has(keyword) || COMPARED.has(keyword)) continue;
    const written = writer.schema[keyword];
    if (
      isWithin(keyword, written, bound) ||
      (keyword === 'pattern' && allMatch(writer.schema, String(bound)))
    )
      continue;
    broken(
      `${keyword} is ${JSON.stringify(written) ?? 'not set'}, and must fit ${JSON.stringify(bound)}`,
    );
  }
  return breaks;
}

function typesOf({ type, enum: values, const: only }: JsonSchema): readonly string[] | undefined {
  if (type !== undefined) return [type].flat();
  const given = only === undefined ? values : [only];
  return given === undefined ? undefined : [...new Set(given.map(typeName))];
}

const typeName = (value: unknown): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
};

const valuesOf = ({ enum: values, const: only }: JsonSchema): readonly unknown[] | undefined =>
  only === undefined ? values : [only];

function isWithin(keyword: string, written: unknown, bound: unknown): boolean {
  if (isDeepStrictEqual(written, bound)) return true;
  if (typeof written !== 'number' || typeof bound !== 'number') return false;
  if (LOWER_BOUNDS.has(keyword)) return written >= bound;
  return UPPER_BOUNDS.has(keyword) && written <= bound;
}

function allMatch(schema: JsonSchema, pattern: string): boolean {
  const values = valuesOf(schema);
  return (
    values?.every((value) => typeof value === 'string' && new RegExp(pattern, 'u').test(value)) ??
    false
  );
}
