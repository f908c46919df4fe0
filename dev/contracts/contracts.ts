/** The contracts: which there are, who writes what they describe, and where their files are. */
import { readFileSync } from 'node:fs';
import type { JsonSchema } from './json-schema.ts';

export const CONTRACTS_DIRECTORY = new URL('../../contracts/', import.meta.url);

/** `output`: the connector writes it. `input`: the connector reads it. */
export type Direction = 'output' | 'input';

export interface Contract {
  /** Its files are `<name>.schema.json`, `avro/<name>.avsc`, `protobuf/<name>.proto`. */
  readonly name: string;
  readonly direction: Direction;
  /**
   * True if it is a record's value, which may be written as Avro and Protobuf too; otherwise it is
   * headers.
   */
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
