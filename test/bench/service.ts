/**
 * Content Review Service with minimal cost, so that a benchmark measures the connector. It does not check content,
 * keeps uploads in memory, and appends the same columns to each row of a result file. Runs in its own process:
 * `service.ts REVIEW_MS UPLOAD_BYTES_PER_SECOND`; prints its address.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { membersOf, randomOf } from './events.ts';
import { resultFile } from './result-file.ts';

/** Metadata of every looked-up decision. */
const METADATA = Object.fromEntries(membersOf(1, randomOf(1)));
const REVIEW_MS = Number(process.argv[2] ?? 0);
const UPLOAD_BYTES_PER_SECOND = Number(process.argv[3] ?? Infinity);
const PIECE_BYTES = 64 * 1024;
/** Time in ms at which the storage has received all uploads so far, at UPLOAD_BYTES_PER_SECOND. */
let receivedMs = 0;
/** Number of downloaded results to keep, since the successor of a killed process downloads them again. */
const KEPT_RESULTS = 32;
interface Job {
  readonly type: string;
  /** Time at which the job's results are ready. */
  doneMs: number;
  body: Buffer;
}

const jobs = new Map<string, Job>();
/** Jobs whose results were downloaded, newest last. */
const downloaded = new Set<Job>();

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', address());
  const id = decodeURIComponent(pathname.split('/').at(-1) ?? '');
  void answer(request, response, pathname, id).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening on ${address()}\n`));

const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  id: string,
): Promise<void> {
  if (request.method === 'PUT') {
    const job = jobs.get(id) as Job;
    job.body = await bodyOf(request);
    // Concurrent uploads share the rate, piece by piece.
    for (let left = job.body.length; left > 0 && UPLOAD_BYTES_PER_SECOND < Infinity; ) {
      const piece = Math.min(left, PIECE_BYTES);
      receivedMs = Math.max(receivedMs, Date.now()) + (piece * 1_000) / UPLOAD_BYTES_PER_SECOND;
      await sleep(receivedMs - Date.now());
      left -= piece;
    }
    job.doneMs = Date.now() + REVIEW_MS;
    response.end();
  } else if (request.method === 'POST') {
    const { type = '' } = JSON.parse(String(await bodyOf(request)) || '{}') as { type?: string };
    const created = `job-${jobs.size + 1}`;
    jobs.set(created, { type, doneMs: Number.POSITIVE_INFINITY, body: Buffer.alloc(0) });
    const about = { upload_url: `${address()}/upload/${created}?signature=x`, download_url: null };
    json(response, {
      ...about,
      ...(path.endsWith('/import')
        ? { import_id: created, import_status: 'WAITING_FOR_UPLOAD' }
        : { batch_id: created, batch_status: 'WAITING_FOR_UPLOAD' }),
    });
  } else if (path.startsWith('/results/')) {
    const job = jobs.get(id) as Job;
    const file = resultFile(job.body);
    response.setHeader('content-length', file.length);
    response.end(file);
    downloaded.add(job);
    const [oldest] = downloaded;
    if (oldest !== undefined && downloaded.size > KEPT_RESULTS) {
      downloaded.delete(oldest);
      oldest.body = Buffer.alloc(0);
    }
  } else if (path === '/bench/jobs') {
    json(response, { jobs: [...jobs].map(([name, { doneMs }]) => ({ id: name, doneMs })) });
  } else if (path.startsWith('/v1/decisions/')) {
    json(response, {
      decision_id: id,
      decision_status: 'SUCCESS',
      metadata: METADATA,
      result: 'approved',
      labels: [{ name: 'spam', applied: false, explanation: 'Nothing in it is spam.' }],
    });
  } else {
    const job = jobs.get(id);
    // The connector's connection check requests an unknown object.
    if (job === undefined) return json(response, { error: 'no such object' }, 404);
    const { type, doneMs } = job;
    const isDone = Date.now() >= doneMs;
    const waiting = doneMs === Number.POSITIVE_INFINITY ? 'WAITING_FOR_UPLOAD' : undefined;
    if (path.startsWith('/v1/import/'))
      json(response, {
        import_id: id,
        import_status: waiting ?? (isDone ? 'COMPLETE' : 'IN_PROGRESS'),
      });
    else {
      json(response, {
        batch_id: id,
        type,
        batch_status: waiting ?? (isDone ? 'SUCCESS' : 'PENDING'),
        upload_url: null,
        download_url: isDone ? `${address()}/results/${id}?signature=x` : null,
      });
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

function json(response: ServerResponse, answer: object, status = 200): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(answer));
}
