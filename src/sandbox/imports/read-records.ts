/**
 * Reads an uploaded JSONL file (service-interface.md 2.5) and checks every line. Memory is bounded by the longest line, and
 * the event loop gets its turn after each chunk. Problems name the line and never quote it.
 */

import { textTests } from '../policy/judge.ts';
import type { Policy } from '../policy/schema.ts';

/** The upload is not what the interface asks for, or the policy fails it: the import goes to FAILED. */
export class InvalidImport extends Error {
  override readonly name = 'InvalidImport';
}

const NEWLINE = 0x0a;

/** Returns the number of records. @throws InvalidImport; the signal's reason when it aborts. */
export async function readRecords(
  upload: AsyncIterable<Buffer>,
  policy: Policy['imports'],
  signal: AbortSignal,
): Promise<number> {
  const check = recordCheck(policy);
  let records = 0;
  let begun: Buffer[] = [];
  const endLine = (end: Buffer) => {
    records += 1;
    check(begun.length === 0 ? end : Buffer.concat([...begun, end]), records);
    begun = [];
  };
  for await (const chunk of upload) {
    signal.throwIfAborted();
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      endLine(chunk.subarray(from, to));
      from = to + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) endLine(Buffer.alloc(0));
  if (records === 0) throw new InvalidImport('the upload is empty: it needs at least one record');
  return records;
}

type Check = (line: Buffer, number: number) => void;

function recordCheck({ types, fail }: Policy['imports']): Check {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const rules = fail.map((when) => ({ types: when.type, tests: textTests(when) }));
  return (line, number) => {
    const { text, type } = record(line, number, decoder);
    if (types !== undefined && !types.includes(type)) {
      throw new InvalidImport(
        `line ${number}: records of this type are not imported here; known are ${types.join(', ')}`,
      );
    }
    for (const rule of rules) {
      if ((rule.types?.includes(type) ?? true) && rule.tests.every((test) => test(text))) {
        throw new InvalidImport(
          `line ${number}: a rule of the policy fails every import with a record like this`,
        );
      }
    }
  };
}

function record(
  line: Buffer,
  number: number,
  decoder: TextDecoder,
): { readonly text: string; readonly type: string } {
  let text: string;
  try {
    text = decoder.decode(line);
  } catch {
    throw new InvalidImport(`line ${number} is not UTF-8`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidImport(`line ${number} is not JSON`);
  }
  if (!isObject(value)) throw new InvalidImport(`line ${number} is not a JSON object`);
  const { type, data, ...others } = value;
  if (typeof type !== 'string') throw new InvalidImport(`line ${number}: type must be a text`);
  if (!isObject(data)) throw new InvalidImport(`line ${number}: data must be an object`);
  if (Object.keys(others).length > 0)
    throw new InvalidImport(`line ${number} has fields other than type and data`);
  return { text, type };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
