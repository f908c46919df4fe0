/** List of the contracts. Their files are `<name>.schema.json`, `avro/<name>.avsc` and `protobuf/<name>.proto`. */
import { readFileSync } from 'node:fs';
import type { JsonSchema } from './json-schema.ts';

export const CONTRACTS_DIRECTORY = new URL('../../contracts/', import.meta.url);

/** `value` is true for a record's value, which has Avro and Protobuf schemas too; false for headers. */
export const CONTRACTS = [
  { name: 'content-event', value: true },
  { name: 'decision', value: true },
  { name: 'looked-up-decision', value: true },
  { name: 'receipt', value: true },
  { name: 'dead-letter', value: false },
] as const;

export type ContractName = (typeof CONTRACTS)[number]['name'];

export function readSchema(name: ContractName): JsonSchema {
  return JSON.parse(
    readFileSync(new URL(`${name}.schema.json`, CONTRACTS_DIRECTORY), 'utf8'),
  ) as JsonSchema;
}
