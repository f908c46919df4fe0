/** Imports (service-interface.md 2.4, 2.5): a JSONL file of typed records up. */
import type { Clock } from '../base/clock.ts';
import type { CreatedImport, ImportView } from '../service/answers.ts';
import type { ServiceClient } from '../service/client.ts';
import { CONTENT_TYPES } from '../service/contract.ts';
import { withPublicErrors } from './errors.ts';
import { type CallOptions, signalOf } from './options.ts';
import {
  type UploadBody,
  type UploadOptions,
  type UploadSource,
  uploadBodyOf,
} from './upload-source.ts';
import { NewIds, type WaitOptions, waitUntil } from './wait.ts';

export class Imports {
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

  /** Creates an import. Processing starts by itself when its file is uploaded. */
  async create(options?: CallOptions): Promise<CreatedImport> {
    const created = await withPublicErrors(
      this.#service.createImport({ signal: signalOf(options, this.#closed) }),
    );
    this.#new.add(created.importId);
    return created;
  }

  /** Sends the JSONL file: each line an object with exactly `type` (a string) and `data` (an object). */
  async upload(
    created: Pick<CreatedImport, 'uploadUrl'>,
    source: UploadSource,
    options: UploadOptions = {},
  ): Promise<void> {
    await this.#send(created.uploadUrl, await uploadBodyOf(source, options.onProgress), options);
  }

  /** `create` and `upload`; nothing is created for a source that cannot be read. @returns the import's id. */
  async submit(source: UploadSource, options: UploadOptions = {}): Promise<string> {
    const body = await uploadBodyOf(source, options.onProgress);
    const created = await this.create(options);
    await this.#send(created.uploadUrl, body, options);
    return created.importId;
  }

  /** How an import is doing, asked at `importPath`. */
  get(importId: string, options?: CallOptions): Promise<ImportView> {
    return withPublicErrors(
      this.#service.getImport(importId, { signal: signalOf(options, this.#closed) }),
    );
  }

  /** Waits for COMPLETE or FAILED. An unknown status is waited on, and so is a 404 within half a minute of `create`. */
  waitFor(importId: string, options: WaitOptions<ImportView> = {}): Promise<ImportView> {
    return waitUntil(
      this.#clock,
      importId,
      { ...options, signal: signalOf(options, this.#closed) },
      (signal) => this.get(importId, { signal }),
      ({ status }) => status === 'COMPLETE' || status === 'FAILED',
      () => this.#new.has(importId),
    );
  }

  async #send(uploadUrl: string, body: UploadBody, options: UploadOptions): Promise<void> {
    const { extraHeaders = {} } = options;
    const request = {
      contentType: CONTENT_TYPES.jsonl,
      signal: signalOf(options, this.#closed),
      extraHeaders,
    };
    await withPublicErrors(this.#service.upload(uploadUrl, body, request));
  }
}
