/** Batches (service-interface.md 2.1 to 2.3): a CSV file up, a CSV file of decisions down. */
import type { Clock } from '../base/clock.ts';
import type { BatchView, CreatedBatch } from '../service/answers.ts';
import type { ServiceClient } from '../service/client.ts';
import { CONTENT_TYPES } from '../service/contract.ts';
import { NoResultsError, publicError, withPublicErrors } from './errors.ts';
import { type CallOptions, signalOf } from './options.ts';
import { type ResultRow, type ResultsOptions, resumedRows } from './results.ts';
import {
  type UploadBody,
  type UploadOptions,
  type UploadSource,
  uploadBodyOf,
} from './upload-source.ts';
import { NewIds, type WaitOptions, waitUntil } from './wait.ts';

const FINISHED: ReadonlySet<string | undefined> = new Set(['SUCCESS', 'CANCELLED', 'ERROR']);

export class Batches {
  readonly #service: ServiceClient;
  readonly #clock: Clock;
  readonly #closed: AbortSignal;
  readonly #new: NewIds;

  /** @param closed aborts when the client is closed. */
  constructor(service: ServiceClient, clock: Clock, closed: AbortSignal) {
    this.#service = service;
    this.#clock = clock;
    this.#closed = closed;
    this.#new = new NewIds(clock);
  }

  /** Creates a batch of a content type. Nothing is reviewed before its file is uploaded. @throws TypeError for a type without a character. */
  async create(type: string, options?: CallOptions): Promise<CreatedBatch> {
    if (typeof type !== 'string' || type.trim() === '')
      throw new TypeError('a batch needs a type of content');
    const created = await withPublicErrors(
      this.#service.createBatch(type, { signal: signalOf(options, this.#closed) }),
    );
    this.#new.add(created.batchId);
    return created;
  }

  /** Sends the CSV file: a header row, a column `Content`, every other column is metadata. */
  async upload(
    batch: Pick<CreatedBatch, 'uploadUrl'>,
    source: UploadSource,
    options: UploadOptions = {},
  ): Promise<void> {
    await this.#send(batch.uploadUrl, await uploadBodyOf(source, options.onProgress), options);
  }

  /** `create` and `upload`; nothing is created for a source that cannot be read. @returns the batch's id. */
  async submit(type: string, source: UploadSource, options: UploadOptions = {}): Promise<string> {
    const body = await uploadBodyOf(source, options.onProgress);
    const batch = await this.create(type, options);
    await this.#send(batch.uploadUrl, body, options);
    return batch.batchId;
  }

  /** How a batch is doing. */
  get(batchId: string, options?: CallOptions): Promise<BatchView> {
    return withPublicErrors(
      this.#service.getBatch(batchId, { signal: signalOf(options, this.#closed) }),
    );
  }

  /** Waits for SUCCESS with its results, CANCELLED or ERROR. An unknown status is waited on, and so is a 404 within half a minute of `create`. */
  waitFor(batchId: string, options: WaitOptions<BatchView> = {}): Promise<BatchView> {
    return waitUntil(
      this.#clock,
      batchId,
      { ...options, signal: signalOf(options, this.#closed) },
      (signal) => this.get(batchId, { signal }),
      (batch) =>
        FINISHED.has(batch.status) &&
        (batch.status !== 'SUCCESS' || batch.downloadUrl !== undefined),
      () => this.#new.has(batchId),
    );
  }

  /**
   * The rows of the result file as they come. A download that breaks is taken up again where it broke.
   * @throws NoResultsError unless the batch has results; ProtocolError for a file that is not what the interface promises.
   */
  async *results(
    batchId: string,
    options: ResultsOptions = {},
  ): AsyncGenerator<ResultRow, void, undefined> {
    try {
      yield* resumedRows(
        this.#clock,
        { ...options, signal: signalOf(options, this.#closed) },
        async () => {
          const batch = await this.#withResults(batchId, options);
          const { success, error } = batch.counts;
          const expectedRows =
            success === undefined || error === undefined ? undefined : success + error;
          return {
            chunks: this.#service.download(batch.downloadUrl, {
              signal: signalOf(options, this.#closed),
            }),
            expectedRows,
          };
        },
      );
    } catch (error) {
      throw publicError(error);
    }
  }

  /** The result file's own bytes. One that breaks is not taken up again. @throws NoResultsError unless the batch has results. */
  async *resultFile(
    batchId: string,
    options: CallOptions = {},
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const signal = signalOf(options, this.#closed);
    try {
      const { downloadUrl } = await this.#withResults(batchId, options);
      for await (const chunk of this.#service.download(downloadUrl, { signal })) {
        yield chunk;
        signal.throwIfAborted();
      }
    } catch (error) {
      throw publicError(error);
    }
  }

  async #withResults(
    batchId: string,
    options: CallOptions,
  ): Promise<BatchView & { readonly downloadUrl: string }> {
    const batch = await this.#service.getBatch(batchId, {
      signal: signalOf(options, this.#closed),
    });
    const { downloadUrl } = batch;
    if (downloadUrl === undefined) throw new NoResultsError(batchId, batch.rawStatus);
    return { ...batch, downloadUrl };
  }

  async #send(uploadUrl: string, body: UploadBody, options: UploadOptions): Promise<void> {
    const { extraHeaders = {} } = options;
    const request = {
      contentType: CONTENT_TYPES.csv,
      signal: signalOf(options, this.#closed),
      extraHeaders,
    };
    await withPublicErrors(this.#service.upload(uploadUrl, body, request));
  }
}
