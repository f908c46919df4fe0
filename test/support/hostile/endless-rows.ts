/** A Content Review Service whose first result files have a row that never ends. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { PATHS } from '../../../packages/client/src/service/contract.ts';

const CHUNK = 64 * 1024;
/** Bytes of an endless file: it has to end at some time. */
const ENDLESS_BYTES = 400 * 1024 * 1024;

/** Content of a row that never ends, after its first characters. */
export const ENDLESS_ROWS = {
  quoted: ['"', 'a'],
  unquoted: ['', 'a'],
  'full of commas': ['', ','],
  'full of quotes': ['"', '""'],
} as const;
export type EndlessRow = keyof typeof ENDLESS_ROWS;

export class EndlessRowService {
  readonly url: string;
  /** Downloads of endless files by batch. */
  readonly endless = new Map<string, number>();
  /** Row of the files that are endless; undefined: every file is whole. */
  row: EndlessRow | undefined = 'quoted';
  readonly #server: ReturnType<typeof createServer>;
  readonly #uploads = new Map<string, Buffer>();

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<EndlessRowService> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EndlessRowService(server);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const id = url.split('/').at(-1) ?? '';
    if (url === PATHS.batches) {
      const batch_id = `b-${this.#uploads.size}`;
      this.#uploads.set(batch_id, Buffer.alloc(0));
      request.resume();
      const upload_url = `${this.url}/files/${batch_id}`;
      return json(response, { batch_id, batch_status: 'WAITING_FOR_UPLOAD', upload_url });
    }
    if (method === 'PUT') {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      this.#uploads.set(id, Buffer.concat(chunks));
      response.end();
      return;
    }
    if (!url.startsWith('/files/')) {
      const download_url = `${this.url}/files/${id}`;
      return json(response, { batch_id: id, batch_status: 'SUCCESS', download_url });
    }
    const rows = parse(this.#uploads.get(id) ?? '') as string[][];
    response.writeHead(200, { 'content-type': 'text/csv' });
    if (this.row === undefined) {
      response.end(stringify(rows.map((row, n) => [...row, ...(n === 0 ? RESULTS : DECIDED)])));
      return;
    }
    this.endless.set(id, (this.endless.get(id) ?? 0) + 1);
    const header = stringify([[...(rows[0] as string[]), ...RESULTS]]);
    await writeEndless(response, header, ENDLESS_ROWS[this.row]);
  }
}

const RESULTS = ['Status', 'Service result', 'Expected result', 'Labels'];
const DECIDED = ['SUCCESS', 'approved', '', ''];

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Writes until the file is long, or the reader hangs up. */
async function writeEndless(
  response: ServerResponse,
  header: string,
  [begin, part]: readonly [string, string],
): Promise<void> {
  const chunk = Buffer.alloc(CHUNK, part);
  const file = function* () {
    yield Buffer.from(header + begin);
    for (let sent = 0; sent < ENDLESS_BYTES; sent += CHUNK) yield chunk;
  };
  await pipeline(file(), response).catch(() => undefined);
}
