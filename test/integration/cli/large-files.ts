/** Files of 200 MB, made while they are sent, and the memory that a command needs for them. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import type { TestContext } from 'node:test';
import { type Ended, startCli } from './cli-process.ts';

export const FILE_BYTES = 200_000_000;
/** A process that held such a file in memory would need more than its own size and the file. */
export const MAX_RSS_MIB = 256;

/** A service that takes whatever comes, and knows the digest of the upload. */
export async function wideService(
  t: TestContext,
): Promise<{ readonly url: string; digest(): string | undefined }> {
  let digest: string | undefined;
  const server = createServer(async (request, response) => {
    const upload_url = `http://${request.headers.host}/put`;
    const hash = createHash('sha256');
    for await (const chunk of request) hash.update(chunk);
    if (request.method === 'PUT') digest = hash.digest('hex');
    const created = {
      batch_id: 'b-1',
      batch_status: 'WAITING_FOR_UPLOAD',
      import_id: 'i-1',
      import_status: 'WAITING_FOR_UPLOAD',
      upload_url,
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(created));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    digest: () => digest,
  };
}

/** Writes pieces until there are FILE_BYTES. @returns the digest of all */
export async function writePieces(out: Writable, piece: (n: number) => string): Promise<string> {
  const hash = createHash('sha256');
  for (let n = 0, bytes = 0; bytes < FILE_BYTES; n++) {
    const text = Buffer.from(piece(n));
    bytes += text.length;
    hash.update(text);
    if (!out.write(text)) await once(out, 'drain');
  }
  return hash.digest('hex');
}

const TELL_RSS = `import { writeSync } from 'node:fs';
process.on('exit', () => writeSync(2, 'peak ' + Math.round(process.resourceUsage().maxRSS / 1024) + ' MiB\\n'));`;

/** Starts a command that prints its peak memory at the end. */
export function startMeasured(args: readonly string[], env: Readonly<Record<string, string>>) {
  const NODE_OPTIONS = `--max-semi-space-size=8 --import=data:text/javascript,${encodeURIComponent(TELL_RSS)}`;
  return startCli(args, { ...env, NODE_OPTIONS });
}

/** MiB. */
export const peakOf = ({ err }: Ended): number =>
  Number(/peak (\d+) MiB/.exec(err)?.[1] ?? Number.NaN);
