/** Validators for records by the published contracts (contracts/). Each schema is compiled once per process. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import {
  CONTRACTS_DIRECTORY,
  type ContractName,
  readSchema,
} from '../../dev/contracts/contracts.ts';
import type { RecordHeaders } from '../../src/core/record.ts';
import { headerOf } from './records/headers.ts';

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;
const validators = new Map<ContractName, ValidateFunction>();

/** Returns the violations of the contract as text, or undefined. */
export function contractProblem(name: ContractName, value: unknown): string | undefined {
  let validate = validators.get(name);
  if (validate === undefined) {
    const ajv = new Ajv2020({
      strict: true,
      allErrors: true,
      allowUnionTypes: true,
      strictTypes: false,
      strictRequired: false,
    });
    ajv.addFormat('date-time', RFC3339);
    validate = ajv.compile(readSchema(name));
    validators.set(name, validate);
  }
  if (validate(value)) return undefined;
  const errors = (validate.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath || '/'} ${message}`,
  );
  return `does not fit contracts/${name}.schema.json: ${errors.join('; ')}`;
}

export function assertContract(name: ContractName, value: unknown): void {
  const problem = contractProblem(name, value);
  if (problem !== undefined) assert.fail(problem);
}

/** Returns the contract of an output record. The contracts differ in their members, which identify the right one. */
export function contractOf(value: object): ContractName {
  if ('batch' in value) return 'decision';
  return 'decision_id' in value ? 'looked-up-decision' : 'receipt';
}

/** Checks a parsed record of an output topic. @returns the violation, or undefined */
export function outputProblem(value: unknown, headers: RecordHeaders): string | undefined {
  if (typeof value !== 'object' || value === null) return 'is not a JSON object';
  const problem = contractProblem(contractOf(value), value);
  if (problem !== undefined) return problem;
  const id = headerOf({ headers }, 'event-id');
  return 'id' in value && value.id === id
    ? undefined
    : `has the header event-id ${id}, which is not its id`;
}

/** Checks the headers of a dead letter. @returns the violation, or undefined */
export function deadLetterProblem(headers: RecordHeaders): string | undefined {
  return contractProblem(
    'dead-letter',
    Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
  );
}

/** Returns the text of a file below contracts/. */
export function contractFile(path: string): string {
  return readFileSync(new URL(path, CONTRACTS_DIRECTORY), 'utf8');
}
