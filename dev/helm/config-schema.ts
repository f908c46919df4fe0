/**
 * `config` in the chart's values.schema.json, from the schema that checks configuration files: a name that no option has fails where
 * Helm renders. What options allow is left to the connector's own check, since any of them may come from a variable.
 */
import { readFileSync } from 'node:fs';
import type { Option } from '../../src/config/option.ts';
import { CONFIGURATION } from '../../src/config/schema.ts';

export const VALUES_SCHEMA = new URL(
  '../../helm/content-review-connector/values.schema.json',
  import.meta.url,
);
/** Longest list on one line, in characters. */
const MAX_LIST_CHARS = 60;

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** The whole file, with a new `config`. */
export function valuesSchemaFile(): string {
  const schema = JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8'));
  const config = jsonSchema(CONFIGURATION, { required: false });
  schema.properties.config = {
    ...config,
    description: "The connector's configuration: docs/configuration.md.",
    type: 'object',
  };
  return `${formatted(schema, '')}\n`;
}

/** @param required whether options without a default must be there: of an entry of a list, but not of what the chart adds to. */
function jsonSchema(
  info: Option,
  { required }: { readonly required: boolean },
): { [name: string]: Json } {
  if (info.kind === 'value') return { description: info.help };
  if (info.kind === 'list')
    return {
      description: info.help,
      type: ['array', 'null'],
      items: jsonSchema(info.item, { required: true }),
    };
  const members = Object.entries(info.shape);
  const needed = members
    .filter(([, member]) => required && isRequired(member))
    .map(([name]) => name);
  return {
    description: info.help,
    // As a key without a value: its options have their defaults.
    type: needed.length > 0 ? 'object' : ['object', 'null'],
    additionalProperties: false,
    ...(needed.length > 0 && { required: needed }),
    properties: Object.fromEntries(
      members.map(([name, member]) => [name, jsonSchema(member, { required })]),
    ),
  };
}

function isRequired(info: Option): boolean {
  if (info.kind === 'group') return Object.values(info.shape).some(isRequired);
  return info.kind === 'list' || info.fallback === undefined;
}

/** As the formatter of this repository has it: lists of plain values stay on a line where they fit. */
function formatted(value: Json, indent: string): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const line = `[${value.map((one) => formatted(one, inner)).join(', ')}]`;
    const plain = value.every((one) => typeof one !== 'object');
    if (plain && line.length <= MAX_LIST_CHARS) return line;
    return `[\n${value.map((one) => inner + formatted(one, inner)).join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(
    ([name, one]) => `${inner}${JSON.stringify(name)}: ${formatted(one, inner)}`,
  );
  return members.length === 0 ? '{}' : `{\n${members.join(',\n')}\n${indent}}`;
}
