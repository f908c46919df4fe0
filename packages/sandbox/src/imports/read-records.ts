/**
 * Reads an uploaded JSONL file and checks every line. Memory is bounded by the longest line, and
 * the event loop stays free between chunks. Problems name the line and never quote it.
 */
import { isObject } from '../../../client/src/base/json/is-object.ts';
import { parseJson } from '../../../client/src/base/json/parse-json.ts';
import { textTest } from '../policy/judge.ts';
import type { SandboxPolicy } from '../policy/schema.ts';
import { InvalidUpload } from '../review/csv-rows.ts';

const NEWLINE = 0x0a;

/** Returns the number of records. @throws InvalidUpload; the signal's reason when it aborts. */
export async function readRecords(
  upload: AsyncIterable<Buffer>,
  { types, fail }: SandboxPolicy['imports'],
  signal: AbortSignal,
): Promise<number> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const rules = fail.map((when) => ({ types: when.type, fits: textTest(when) }));
  let records = 0;
  const check = (line: Buffer) => {
    records += 1;
    const text = attempt(() => decoder.decode(line), `line ${records} is not UTF-8`);
    const type = typeIn(text, records);
    if (types?.includes(type) === false) {
      const known = types.join(', ');
      const reason = `records of this type are not imported here; known are ${known}`;
      throw new InvalidUpload(`line ${records}: ${reason}`);
    }
    if (rules.some((rule) => (rule.types?.includes(type) ?? true) && rule.fits(text))) {
      const reason = 'a rule of the policy fails every import with a record like this';
      throw new InvalidUpload(`line ${records}: ${reason}`);
    }
  };

  let begun: Buffer[] = [];
  for await (const chunk of upload) {
    signal.throwIfAborted();
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      check(Buffer.concat([...begun, chunk.subarray(from, to)]));
      begun = [];
      from = to + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) check(Buffer.concat(begun));
  if (records === 0) throw new InvalidUpload('the upload is empty: it needs at least one record');
  return records;
}

function typeIn(text: string, line: number): string {
  const json: unknown = attempt(() => parseJson(text), `line ${line} is not JSON`);
  if (!isObject(json) || typeof json.type !== 'string' || !isObject(json.data)) {
    const shape = 'an object with the text type and the object data';
    throw new InvalidUpload(`line ${line} is not ${shape}`);
  }
  if (Object.keys(json).length > 2) {
    throw new InvalidUpload(`line ${line} has fields other than type and data`);
  }
  return json.type;
}

function attempt<Value>(read: () => Value, problem: string): Value {
  try {
    return read();
  } catch {
    throw new InvalidUpload(problem);
  }
}
