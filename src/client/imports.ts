import type { CreatedImport, ImportView } from '../service/answers.ts';
import { CONTENT_TYPES } from '../service/contract.ts';
import type { Calls } from './calls.ts';
import type { ClientCallOptions, WaitOptions } from './options.ts';
import { type ClientUploadOptions, type UploadSource, uploadBodyOf } from './upload-source.ts';

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
    { uploadUrl }: Pick<CreatedImport, 'uploadUrl'>,
    source: UploadSource,
    options: ClientUploadOptions = {},
  ): Promise<void> {
    const body = await uploadBodyOf(source, options.onProgress);
    await this.#calls.send(uploadUrl, body, CONTENT_TYPES.jsonl, options);
  }

  /**
   * Creates an import and uploads its file. Nothing is created for a source that cannot be read.
   * @returns the import's id.
   * @throws as `create` and `upload`.
   */
  async submit(source: UploadSource, options: ClientUploadOptions = {}): Promise<string> {
    const body = await uploadBodyOf(source, options.onProgress);
    const { importId, uploadUrl } = await this.create(options);
    await this.#calls.send(uploadUrl, body, CONTENT_TYPES.jsonl, options);
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
