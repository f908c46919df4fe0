import { createHash } from 'node:crypto';
import { ServiceError } from './base/service-error.ts';
import type { Calls } from './calls.ts';
import { NoResultsError } from './errors.ts';
import type { ClientCallOptions, WaitOptions } from './options.ts';
import { unreadable } from './results/result-header.ts';
import { type ResultsOptions, type ReviewedRow, resultRows } from './results.ts';
import type {
  BatchView,
  CreatedBatch,
  CreatedImport,
  DecisionView,
  ImportView,
} from './service/answers.ts';
import type { ServiceClient } from './service/client.ts';
import { CONTENT_TYPES } from './service/contract.ts';
import type { ClientUploadOptions, UploadSource } from './upload-source.ts';

/** Consecutive downloads that may break off without a new byte. */
const MAX_BREAKS = 5;
const BREAK_DELAY_MS = 500;

/**
 * Streams a result file, each byte once, over as many downloads as it takes.
 * @throws ServiceError `protocol` for another file than before the break; what `open` throws; the signal's reason.
 */
async function* resumedBytes(
  { clock, onRetry }: Pick<Calls, 'clock' | 'onRetry'>,
  signal: AbortSignal,
  open: () => Promise<AsyncIterable<Buffer>>,
): AsyncGenerator<Buffer, void, undefined> {
  const digest = createHash('sha256');
  let streamed = 0;

  for (let breaks = 0; ; ) {
    const skip = streamed;
    const expected = digest.copy().digest('hex');
    const skipped = createHash('sha256');
    let at = 0;
    try {
      for await (const chunk of await open()) {
        const known = chunk.subarray(0, Math.max(0, skip - at));
        const fresh = chunk.subarray(known.length);
        skipped.update(known);
        const reachesEnd = at < skip && at + chunk.length >= skip;
        if (reachesEnd && skipped.copy().digest('hex') !== expected) throw changed();

        at += chunk.length;
        if (fresh.length === 0) continue;
        digest.update(fresh);
        streamed += fresh.length;
        yield fresh;
      }
      if (at < skip) throw changed();
      return;
    } catch (error) {
      breaks = streamed > skip ? 1 : breaks + 1;
      if (!isBreak(error) || breaks > MAX_BREAKS) throw error;
    }
    onRetry('download', 'broken off');
    await clock.sleep(BREAK_DELAY_MS * breaks, signal);
  }
}

/** The storage had begun to respond, so the service client has not retried, and another download may get further. */
const isBreak = (error: unknown): boolean =>
  error instanceof ServiceError &&
  error.operation === 'download' &&
  !error.sameAgain &&
  Math.floor((error.status ?? 0) / 100) === 2;

const changed = (): ServiceError =>
  unreadable(
    'the result file is not the one that was read before its download broke off: read it from its beginning',
  );

const FINISHED: ReadonlySet<string | undefined> = new Set(['SUCCESS', 'CANCELLED', 'ERROR']);

/**
 * Batches: a CSV file of content goes up, a CSV file of decisions comes down.
 *
 * @example
 * const batchId = await client.batches.submit('comment', { path: 'comments.csv' });
 * const batch = await client.batches.waitFor(batchId, { timeoutMs: 60_000 });
 * if (batch.status === 'SUCCESS')
 *   for await (const row of client.batches.results(batchId)) console.log(row.content, row.result);
 */
export class BatchResource {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Creates a batch of a content type. The review starts when its file is uploaded.
   * @returns the batch's id and the presigned address for its file, which is a secret.
   * @throws TypeError for a blank type; ContentReviewError.
   */
  async create(type: string, options?: ClientCallOptions): Promise<CreatedBatch> {
    if (typeof type !== 'string' || type.trim() === '')
      throw new TypeError('a batch needs a type of content');
    const created = await this.#calls.run(options, (service, call) =>
      service.createBatch(type, call),
    );
    this.#calls.created(created.batchId);
    return created;
  }

  /**
   * Uploads the CSV file of a created batch: a header row, a column `Content`; every other column is metadata.
   * @throws TypeError for an unusable source; the system's error for a file that cannot be read; ContentReviewError.
   *
   * @example
   * const batch = await client.batches.create('comment');
   * await client.batches.upload(batch, { path: 'comments.csv' });
   */
  async upload(
    created: Pick<CreatedBatch, 'uploadUrl'>,
    source: UploadSource,
    options: ClientUploadOptions = {},
  ): Promise<void> {
    await this.#calls.upload(source, CONTENT_TYPES.csv, options, async () => created);
  }

  /**
   * Creates a batch and uploads its file. Nothing is created for a source that cannot be read.
   * @returns the batch's id.
   * @throws as `create` and `upload`.
   */
  async submit(
    type: string,
    source: UploadSource,
    options: ClientUploadOptions = {},
  ): Promise<string> {
    const { batchId } = await this.#calls.upload(source, CONTENT_TYPES.csv, options, () =>
      this.create(type, options),
    );
    return batchId;
  }

  /** Returns the state of a batch. @throws NotFoundError; other ContentReviewErrors. */
  get(batchId: string, options?: ClientCallOptions): Promise<BatchView> {
    return this.#calls.run(options, (service, call) => service.getBatch(batchId, call));
  }

  /**
   * Waits for SUCCESS with results, CANCELLED or ERROR. Waits on at an unknown status, and at a 404 within half a minute of
   * `create`.
   * @throws WaitTimeoutError after `timeoutMs`; other ContentReviewErrors.
   *
   * @example
   * const { status } = await client.batches.waitFor(batchId, { timeoutMs: 60_000 });
   */
  waitFor(batchId: string, options: WaitOptions<BatchView> = {}): Promise<BatchView> {
    return this.#calls.wait(
      batchId,
      options,
      (call) => this.get(batchId, call),
      ({ status, downloadUrl }) =>
        FINISHED.has(status) && (status !== 'SUCCESS' || downloadUrl !== undefined),
    );
  }

  /**
   * Streams the rows of the result file, each once. A download that breaks off continues where it stopped.
   * @throws NoResultsError unless the batch has results; ProtocolError for an invalid or incomplete file; other ContentReviewErrors.
   *
   * @example
   * for await (const { row, status, result } of client.batches.results(batchId))
   *   console.log(row, status, result);
   */
  results(
    batchId: string,
    options: ResultsOptions = {},
  ): AsyncGenerator<ReviewedRow, void, undefined> {
    return this.#calls.stream(options, (service, signal) => {
      let expectedRows: number | undefined;
      const bytes = this.#download(service, batchId, signal, ({ counts: { success, error } }) => {
        expectedRows = success === undefined || error === undefined ? undefined : success + error;
      });
      return resultRows(bytes, () => expectedRows, options);
    });
  }

  /**
   * Streams the bytes of the result file, unchecked. A download that breaks off continues where it stopped.
   * @throws NoResultsError unless the batch has results; other ContentReviewErrors.
   */
  resultFile(
    batchId: string,
    options: ClientCallOptions = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#calls.stream(options, (service, signal) =>
      this.#download(service, batchId, signal),
    );
  }

  /** Presigned addresses expire, so each download begins with the state of the batch. */
  #download(
    service: ServiceClient,
    batchId: string,
    signal: AbortSignal,
    onBatch: (batch: BatchView) => void = () => {},
  ): AsyncGenerator<Buffer, void, undefined> {
    return resumedBytes(this.#calls, signal, async () => {
      const batch = await service.getBatch(batchId, { signal });
      if (batch.downloadUrl === undefined) throw new NoResultsError(batchId, batch.rawStatus);
      onBatch(batch);
      return service.download(batch.downloadUrl, { signal });
    });
  }
}

/**
 * Imports: a JSON Lines file of typed records goes up.
 *
 * @example
 * const importId = await client.imports.submit({ path: 'users.jsonl' });
 * const { status } = await client.imports.waitFor(importId, { timeoutMs: 60_000 });
 */
export class ImportResource {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Creates an import. The service processes its file once it is uploaded.
   * @returns the import's id and the presigned address for its file, which is a secret.
   * @throws ContentReviewError
   */
  async create(options?: ClientCallOptions): Promise<CreatedImport> {
    const created = await this.#calls.run(options, (service, call) => service.createImport(call));
    this.#calls.created(created.importId);
    return created;
  }

  /**
   * Uploads the JSON Lines file of a created import: each line an object with exactly `type` (a string) and `data` (an object).
   * @throws TypeError for an unusable source; the system's error for a file that cannot be read; ContentReviewError.
   */
  async upload(
    created: Pick<CreatedImport, 'uploadUrl'>,
    source: UploadSource,
    options: ClientUploadOptions = {},
  ): Promise<void> {
    await this.#calls.upload(source, CONTENT_TYPES.jsonl, options, async () => created);
  }

  /**
   * Creates an import and uploads its file. Nothing is created for a source that cannot be read.
   * @returns the import's id.
   * @throws as `create` and `upload`.
   */
  async submit(source: UploadSource, options: ClientUploadOptions = {}): Promise<string> {
    const { importId } = await this.#calls.upload(source, CONTENT_TYPES.jsonl, options, () =>
      this.create(options),
    );
    return importId;
  }

  /** Returns the state of an import, requested at `importPath`. @throws NotFoundError; other ContentReviewErrors. */
  get(importId: string, options?: ClientCallOptions): Promise<ImportView> {
    return this.#calls.run(options, (service, call) => service.getImport(importId, call));
  }

  /**
   * Waits for COMPLETE or FAILED. Waits on at an unknown status, and at a 404 within half a minute of `create`.
   * @throws WaitTimeoutError after `timeoutMs`; other ContentReviewErrors.
   */
  waitFor(importId: string, options: WaitOptions<ImportView> = {}): Promise<ImportView> {
    return this.#calls.wait(
      importId,
      options,
      (call) => this.get(importId, call),
      ({ status }) => status === 'COMPLETE' || status === 'FAILED',
    );
  }
}

/**
 * Single decisions.
 *
 * @example
 * const { status, result, labels } = await client.decisions.get('1f750778-0');
 */
export class DecisionResource {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** Returns a decision. @throws NotFoundError; other ContentReviewErrors. */
  get(decisionId: string, options?: ClientCallOptions): Promise<DecisionView> {
    return this.#calls.run(options, (service, call) => service.getDecision(decisionId, call));
  }

  /**
   * Waits for SUCCESS or ERROR. Waits on at an unknown status.
   * @throws WaitTimeoutError after `timeoutMs`; other ContentReviewErrors.
   */
  waitFor(decisionId: string, options: WaitOptions<DecisionView> = {}): Promise<DecisionView> {
    return this.#calls.wait(
      decisionId,
      options,
      (call) => this.get(decisionId, call),
      ({ status }) => status === 'SUCCESS' || status === 'ERROR',
    );
  }
}
