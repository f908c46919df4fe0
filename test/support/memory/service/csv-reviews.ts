/** Reviews at the service in memory, as files: the CSV that is uploaded comes back with results. One per instance. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  BatchState,
  NewBatch,
  ReviewService as Reviews,
} from '../../../../src/kinds/service-ports.ts';
import { coordinatesIn } from '../../records/reference.ts';
import type { ReviewService, ServiceRow } from './review-service.ts';
import type { ServiceCalls } from './service-calls.ts';

interface Options {
  readonly signal: AbortSignal;
}

/** Pieces in which a result file comes, bytes. */
const PIECE_BYTES = 100;
const STATUSES: Readonly<Record<string, string>> = { finished: 'SUCCESS', failed: 'ERROR' };
const REFERENCE = /"([^"]*)"$/;

export class CsvReviews implements Reviews {
  readonly #service: ReviewService;
  readonly #calls: ServiceCalls;

  constructor(service: ReviewService, calls: ServiceCalls) {
    this.#service = service;
    this.#calls = calls;
  }

  createBatch(type: string, { signal }: Options): Promise<NewBatch> {
    return this.#calls.call('create', signal, undefined, type, () => {
      const { id } = this.#service.create(type);
      return { batchId: id, uploadUrl: `memory://upload/${id}?signature=secret` };
    });
  }

  getBatch(id: string, { signal }: Options): Promise<BatchState> {
    return this.#calls.call('status', signal, id, undefined, () => {
      const { state, type, expectedRows } = this.#service.batch(id);
      const rawStatus = STATUSES[state] ?? state.toUpperCase();
      return {
        type,
        rawStatus,
        downloadUrl: state === 'finished' ? `memory://results/${id}?signature=secret` : undefined,
        counts: { success: expectedRows === undefined ? undefined : expectedRows - 1, error: 0 },
      };
    });
  }

  /** Reads the body when it arrives, not when it is sent: until then it must stay as it is. */
  upload(url: string, body: Buffer, { signal }: Options): Promise<void> {
    const id = idIn(url);
    return this.#calls.call('upload', signal, id, undefined, () => {
      const [header = '', ...lines] = String(body).split('\r\n').slice(0, -1);
      this.#service.put(id, [{ ...NO_ROW, content: header }, ...lines.map(rowOf)]);
    });
  }

  async *download(url: string, { signal }: Options): AsyncGenerator<Buffer> {
    const id = idIn(url);
    const rows = await this.#calls.call(
      'results',
      signal,
      id,
      undefined,
      () => this.#service.batch(id).results,
    );
    const lines = rows.map(
      (row, n) =>
        `${'content' in row ? row.content : ''},${n === 0 ? 'Status,Acme result' : 'SUCCESS,ok'}\r\n`,
    );
    const file = Buffer.from(lines.join(''));
    for (let at = 0; at < file.length; at += PIECE_BYTES) {
      signal.throwIfAborted();
      yield file.subarray(at, at + PIECE_BYTES);
      await this.#calls.turn(signal);
      await nextTurn();
    }
  }
}

/** The line of the header is counted as a row, of no record. */
const NO_ROW: ServiceRow = { partition: -1, offset: -1, content: '', status: 'success' };

function rowOf(content: string): ServiceRow {
  const [, reference = ''] = REFERENCE.exec(content) ?? [];
  return { ...NO_ROW, ...coordinatesIn(reference), content };
}

const idIn = (url: string): string => /^memory:\/\/\w+\/([^?]+)/.exec(url)?.[1] ?? '';
