/** List of the contracts, with their direction and the location of their files. */
import { readFileSync } from 'node:fs';
import type { JsonSchema } from './json-schema.ts';

export const CONTRACTS_DIRECTORY = new URL('../../contracts/', import.meta.url);

/** `output` is written by the connector, `input` is read by it. */
export type Direction = 'output' | 'input';

export interface Contract {
  /** Its files are `<name>.schema.json`, `avro/<name>.avsc` and `protobuf/<name>.proto`. */
  readonly name: string;
  readonly direction: Direction;
  /** True for a record's value, which has Avro and Protobuf schemas too; false for headers. */
  readonly value: boolean;
}

export const CONTRACTS = [
  { name: 'content-event', direction: 'input', value: true },
  { name: 'decision', direction: 'output', value: true },
  { name: 'looked-up-decision', direction: 'output', value: true },
  { name: 'receipt', direction: 'output', value: true },
  { name: 'dead-letter', direction: 'output', value: false },
] as const satisfies readonly Contract[];

export type ContractName = (typeof CONTRACTS)[number]['name'];

export function readSchema(name: ContractName): JsonSchema {
  return JSON.parse(
    readFileSync(new URL(`${name}.schema.json`, CONTRACTS_DIRECTORY), 'utf8'),
  ) as JsonSchema;
}
