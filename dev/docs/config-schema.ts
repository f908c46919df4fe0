/**
 * JSON Schema of the configuration, for editors and for `config` in the chart's values.schema.json.
 * It is generated from the options that check configuration files. The connector rejects everything
 * that the schema rejects, and checks more.
 */
import { readFileSync } from 'node:fs';
import { RELOADABLE } from '../../src/config/changes.ts';
import { DEFINITIONS, type JsonSchema, VARIABLE } from '../../src/config/json-schema.ts';
import type { Option } from '../../src/config/option.ts';
import { CONFIGURATION } from '../../src/config/schema.ts';

export const CONFIG_SCHEMA = new URL('../../config/connector.schema.json', import.meta.url);
export const VALUES_SCHEMA = new URL(
  '../../helm/content-review-connector/values.schema.json',
  import.meta.url,
);
const MAX_COLUMNS = 100;

/** Renders the file that editors read. */
export function configSchemaFile(): string {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Configuration of content-review-connector',
    ...jsonSchema(CONFIGURATION, true),
    $defs: DEFINITIONS,
  };
  return `${formatted(schema, '')}\n`;
}

/** Renders the chart's file with an updated `config`. */
export function valuesSchemaFile(): string {
  const schema = JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8'));
  schema.properties.config = {
    ...jsonSchema(CONFIGURATION, false),
    description: "The connector's configuration: docs/configuration.md.",
    type: 'object',
  };
  Object.assign(schema.$defs, DEFINITIONS);
  return `${formatted(schema, '')}\n`;
}

/**
 * @param required true if options without a default must be present; false for the chart, which
 * sets some of them itself
 */
function jsonSchema(info: Option, required: boolean, path = ''): JsonSchema {
  if (info.kind === 'value') {
    const { help, fallback, schema } = info;
    const allowed = 'anyOf' in schema ? (schema.anyOf as readonly JsonSchema[]) : [schema];
    // A key without a value gets its default. The chart itself reports an empty required option.
    const empty = { enum: ['', null] };
    const unset = fallback !== undefined ? [{ type: 'null' }] : required ? [] : [empty];
    return {
      description: path.slice(1) in RELOADABLE ? `${help} Changes apply without a restart.` : help,
      ...(fallback !== undefined && { default: fallback }),
      anyOf: [...allowed, VARIABLE, ...unset],
    };
  }
  if (info.kind === 'list')
    return {
      description: info.help,
      ...(required ? { type: 'array', minItems: 1 } : { type: ['array', 'null'] }),
      maxItems: info.most,
      items: jsonSchema(info.item, true, `${path}[]`),
    };
  if (info.kind === 'named')
    return {
      description: info.help,
      type: ['object', 'null'],
      additionalProperties: jsonSchema(info.item, true),
    };
  const members = Object.entries(info.shape);
  const needed = members.flatMap(([name, one]) => (required && isRequired(one) ? name : []));
  return {
    description: info.help,
    type: needed.length > 0 && !info.isOptional ? 'object' : ['object', 'null'],
    additionalProperties: false,
    ...(needed.length > 0 && { required: needed }),
    properties: Object.fromEntries(
      members.map(([name, member]) => [name, jsonSchema(member, required, `${path}.${name}`)]),
    ),
  };
}

function isRequired(info: Option): boolean {
  if (info.kind === 'group')
    return info.isOptional !== true && Object.values(info.shape).some(isRequired);
  return info.kind === 'list' || info.fallback === undefined;
}

/**
 * Formats JSON as this repository's formatter does: lists of plain values stay on one line if they
 * fit.
 * @param key text before the value on its line, without the indent
 */
function formatted(value: unknown, indent: string, key = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const line = `[${value.map((one) => formatted(one, inner)).join(', ')}]`;
    const plain = value.every((one) => typeof one !== 'object' || one === null);
    if (plain && indent.length + key.length + line.length < MAX_COLUMNS) return line;
    return `[\n${value.map((one) => inner + formatted(one, inner)).join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, one]) => {
    const key = `${JSON.stringify(name)}: `;
    return inner + key + formatted(one, inner, key);
  });
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}
