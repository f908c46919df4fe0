/** Result files of the benchmark's service: the uploaded rows with additional cells at their end. */

const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const MORE_HEADERS = ',Status,Bench result,Labels,Confidence,Policy version,Reviewed at';
const VARIANTS = 97;
const MORE_CELLS = Array.from({ length: VARIANTS }, (_, n) => Buffer.from(`${cells(n)}\r\n`));

/** Appends columns to the uploaded rows. It finds the ends of rows without parsing them. */
export function resultFile(upload: Buffer): Buffer {
  const head = upload.indexOf(LINE_FEED) + 1;
  const parts: Buffer[] = [withoutLineEnd(upload, 0, head), Buffer.from(`${MORE_HEADERS}\r\n`)];
  let isQuoted = false;
  let start = head;
  for (let at = head; at < upload.length; at++) {
    const byte = upload[at];
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (byte === LINE_FEED && !isQuoted) {
      const more = MORE_CELLS[(parts.length >> 1) % VARIANTS] as Buffer;
      parts.push(withoutLineEnd(upload, start, at + 1), more);
      start = at + 1;
    }
  }
  return Buffer.concat(parts);
}

const withoutLineEnd = (upload: Buffer, start: number, end: number): Buffer =>
  upload.subarray(start, upload[end - 2] === 0x0d ? end - 2 : end - 1);

function cells(n: number): string {
  const isSpam = n % 7 === 0;
  const labels = ['spam', 'harassment', 'adult'].slice(0, 1 + (n % 3)).map((name) => ({
    name,
    applied: isSpam && name === 'spam',
    explanation: isSpam ? 'It offers a "free" thing, twice.' : `Nothing in it is ${name}.`,
  }));
  const result = isSpam ? 'rejected' : 'approved';
  const confidence = (1 - n / (3 * VARIANTS)).toFixed(3);
  const quoted = JSON.stringify(labels).replaceAll('"', '""');
  return `,SUCCESS,${result},"${quoted}",${confidence},2026-11,2026-11-24T10:${10 + (n % 50)}:00Z`;
}
