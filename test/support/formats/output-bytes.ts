/**
 * Encoded outputs with schemas. They change only if a format changes. As a program (node
 * test/support/formats/output-bytes.ts), prints them for test/fixtures/output/read.py.
 */
import { readFileSync } from 'node:fs';
import {
  codecOf,
  type OutputContract,
  REGISTRY_FORMATS,
  RegisteredFormat,
  type RegistryFormatName,
} from '../../../src/events/formats/output-format.ts';

export interface WrittenOutput {
  readonly name: string;
  readonly format: RegistryFormatName;
  /** Path of the output's schema file, below contracts/. */
  readonly file: string;
  /** JSON text that is encoded in every format. */
  readonly json: string;
  /** base64 */
  readonly value: string;
}

const RECORDS = JSON.parse(
  readFileSync(new URL('../../fixtures/output/records.json', import.meta.url), 'utf8'),
) as readonly {
  readonly name: string;
  readonly contract: OutputContract;
  readonly json: string;
}[];

/** Returns the outputs in a fixed order. The id of a schema is its position among the schemas, from 1. */
export function writtenOutputs(): WrittenOutput[] {
  const files: string[] = [];
  return REGISTRY_FORMATS.flatMap((format) =>
    RECORDS.map(({ name, contract, json }) => {
      const { file } = codecOf(contract, format);
      if (!files.includes(file)) files.push(file);
      const writer = new RegisteredFormat(contract, format, 'out-value');
      writer.writeWith(files.indexOf(file) + 1);
      const { value } = writer.encode({ key: null, value: json });
      return { name, format, file, json, value: (value as Buffer).toString('base64') };
    }),
  );
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(writtenOutputs())}\n`);
