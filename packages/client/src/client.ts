import { checkedHeaders } from './http/extra-headers.ts';
import { HttpPool } from './http/http.ts';
import { proxyFromEnvironment } from './http/proxy.ts';
import { tlsContext } from './http/tls-files.ts';
import {
  type BatchView,
  type CreatedBatch,
  type CreatedImport,
  type DecisionView,
  type ImportView,
  readBatch,
  readCreatedBatch,
  readCreatedImport,
  readDecision,
  readImport,
} from './service/answers.ts';
import { Api } from './service/api.ts';
import { CONTENT_TYPES, PATHS } from './service/contract.ts';
import {
  type CallOptions,
  type ContentReviewClientOptions,
  checkedBaseUrl,
  contextOf,
  type DownloadOptions,
  IMPORT_ID_PLACEHOLDER,
  problemWithImportPath,
  type ServiceContext,
  type WaitOptions,
} from './service/options.ts';
import { Transfer } from './service/transfer.ts';
import { transferPolicy } from './service/transfer-policy.ts';
import { type UploadSource, uploadBodyOf } from './upload-source.ts';
import { waitUntil } from './wait.ts';

const BATCH_ENDS: ReadonlySet<string | undefined> = new Set(['SUCCESS', 'CANCELLED', 'ERROR']);
const IMPORT_ENDS: ReadonlySet<string | undefined> = new Set(['COMPLETE', 'FAILED']);
const DECISION_ENDS: ReadonlySet<string | undefined> = new Set(['SUCCESS', 'ERROR']);

/** Maximum number of created batches and imports whose creation time is kept. */
const MAX_CREATED = 1_000;

/**
 * Client of a Content Review Service, used by the connector's pipelines and by other programs.
 *
 * Transient failures (429, 5xx, timeouts, resets) are retried with backoff. Every method throws a ServiceError for a failure
 * of the service or the network, and the signal's reason as soon as it is aborted.
 *
 * @example
 * await using client = new ContentReviewClient({
 *   baseUrl: 'https://review.example.com',
 *   apiKey: process.env.API_KEY ?? '',
 * });
 * const batchId = await client.submitBatch('comment', { path: 'comments.csv' });
 * const { downloadUrl } = await client.waitForBatch(batchId);
 * if (downloadUrl) await writeFile('results.csv', client.download(downloadUrl));
 */
export class ContentReviewClient {
  readonly #context: ServiceContext;
  /** Pools for baseUrl and for transfers. The pools for transfers check the address of every connection. */
  readonly #pools: readonly HttpPool[];
  readonly #api: Api;
  readonly #transfer: Transfer;
  readonly #importPath: string;
  readonly #closing = new AbortController();
  /** Creation times in ms (monotonic clock) by id, oldest first. */
  readonly #createdMs = new Map<string, number>();

  /** @throws TypeError for an invalid option, or an invalid proxy in the environment */
  constructor(options: ContentReviewClientOptions) {
    const context = contextOf(options);
    const { maxConcurrentRequests, maxConcurrentTransfers, importPath } = context.settings;
    const problem = problemWithImportPath(importPath);
    if (problem !== undefined) throw new TypeError(`the path of the import status ${problem}`);
    this.#context = context;
    this.#importPath = importPath;

    const { apiKey, allowHttp = [], transferHosts: hosts = [], allowPrivate = [], tls } = options;
    const baseUrl = checkedBaseUrl(options.baseUrl, allowHttp);
    const policy = transferPolicy({ hosts, allowHttp, allowPrivate }, baseUrl);
    const ownTls = tlsContext(tls);
    // The client certificate is for the service, not for storage hosts, which its responses name.
    const storageTls = tlsContext(tls?.ca && { ca: tls.ca });
    const network = {
      proxyFor: options.proxy ?? proxyFromEnvironment(process.env),
      lookup: options.lookup,
    };
    const api = new HttpPool(context.settings, maxConcurrentRequests, {
      ...network,
      tls: ownTls,
    });
    const [upload, download] = [0, 1].map(
      () =>
        new HttpPool(context.settings, maxConcurrentTransfers, {
          ...network,
          tls: storageTls,
          allowsAddress: policy.allowsAddress,
        }),
    ) as [HttpPool, HttpPool];
    this.#pools = [api, upload, download];
    this.#api = new Api(context, api, baseUrl, async () =>
      typeof apiKey === 'string' ? apiKey : await apiKey(),
    );
    this.#transfer = new Transfer(
      context,
      { upload, download },
      {
        policy,
        uploadHeaders: checkedHeaders(options.uploadHeaders ?? {}),
      },
    );
  }

  /**
   * Creates a batch of a content type. Its review starts when its file is uploaded.
   * @returns the batch id, and the presigned address for the file, which is a secret
   */
  async createBatch(type: string, options?: CallOptions): Promise<CreatedBatch> {
    const settings = this.#settings(options);
    const api = this.#api;
    const created = await api.create('batch', PATHS.batches, readCreatedBatch, settings, { type });
    this.#remember(created.batchId);
    return created;
  }

  /**
   * Creates an import. The service processes it once its file is uploaded.
   * @returns the import id, and the presigned address for the file, which is a secret
   */
  async createImport(options?: CallOptions): Promise<CreatedImport> {
    const settings = this.#settings(options);
    const created = await this.#api.create('import', PATHS.imports, readCreatedImport, settings);
    this.#remember(created.importId);
    return created;
  }

  getBatch(batchId: string, options?: CallOptions): Promise<BatchView> {
    return this.#api.get('batch', batchId, PATHS.batch, readBatch, this.#settings(options));
  }

  /** Returns the state of an import. Sends the request to `importPath`. */
  getImport(importId: string, options?: CallOptions): Promise<ImportView> {
    const pathOf = (id: string) =>
      this.#importPath.replaceAll(IMPORT_ID_PLACEHOLDER, () => encodeURIComponent(id));
    return this.#api.get('import', importId, pathOf, readImport, this.#settings(options));
  }

  getDecision(decisionId: string, options?: CallOptions): Promise<DecisionView> {
    const settings = this.#settings(options);
    return this.#api.get('decision', decisionId, PATHS.decision, readDecision, settings);
  }

  /**
   * Uploads a file to a presigned address.
   * @throws also TypeError for an unusable source, or the system's error if the file cannot be read
   */
  async upload(
    uploadUrl: string,
    source: UploadSource,
    { contentType, ...options }: CallOptions & { readonly contentType: string },
  ): Promise<void> {
    const body = await uploadBodyOf(source);
    await this.#transfer.upload(uploadUrl, body, { contentType, signal: this.#signal(options) });
  }

  /** Streams the file at a presigned address, decompressed. See Transfer.download. */
  download(downloadUrl: string, options: DownloadOptions = {}): AsyncGenerator<Buffer, void, void> {
    return this.#transfer.download(downloadUrl, { ...options, signal: this.#signal(options) });
  }

  /**
   * Creates a batch, and uploads its CSV file. The file has a header row and a column `Content`;
   * all other columns are metadata. If the source cannot be read, nothing is created.
   * @returns the batch id
   * @throws like `upload`
   */
  async submitBatch(
    type: string,
    source: UploadSource,
    options: CallOptions = {},
  ): Promise<string> {
    const body = await uploadBodyOf(source);
    const { batchId, uploadUrl } = await this.createBatch(type, options);
    await this.upload(uploadUrl, body, { ...options, contentType: CONTENT_TYPES.csv });
    return batchId;
  }

  /**
   * Creates an import, and uploads its JSON Lines file. Each line is an object with exactly `type`
   * (a string) and `data` (an object). If the source cannot be read, nothing is created.
   * @returns the import id
   * @throws like `upload`
   */
  async submitImport(source: UploadSource, options: CallOptions = {}): Promise<string> {
    const body = await uploadBodyOf(source);
    const { importId, uploadUrl } = await this.createImport(options);
    await this.upload(uploadUrl, body, { ...options, contentType: CONTENT_TYPES.jsonl });
    return importId;
  }

  /**
   * Waits until a batch is SUCCESS with results, CANCELLED or ERROR. Keeps waiting on an unknown
   * status and, if this client created the batch, for a minute on a 404.
   */
  waitForBatch(batchId: string, options: WaitOptions<BatchView> = {}): Promise<BatchView> {
    const isOver = ({ status, downloadUrl }: BatchView) =>
      BATCH_ENDS.has(status) && (status !== 'SUCCESS' || downloadUrl !== undefined);
    return this.#wait(batchId, options, (call) => this.getBatch(batchId, call), isOver);
  }

  /** Waits until an import is COMPLETE or FAILED. Keeps waiting in the same cases as `waitForBatch`. */
  waitForImport(importId: string, options: WaitOptions<ImportView> = {}): Promise<ImportView> {
    const isOver = ({ status }: ImportView) => IMPORT_ENDS.has(status);
    return this.#wait(importId, options, (call) => this.getImport(importId, call), isOver);
  }

  /** Waits until a decision is SUCCESS or ERROR. Keeps waiting on an unknown status. */
  waitForDecision(id: string, options: WaitOptions<DecisionView> = {}): Promise<DecisionView> {
    const isOver = ({ status }: DecisionView) => DECISION_ENDS.has(status);
    return this.#wait(id, options, (call) => this.getDecision(id, call), isOver);
  }

  /** Aborts all calls and waits with an AbortError, and closes the connections. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort(new DOMException('The client was closed', 'AbortError'));
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #settings(options: CallOptions = {}): CallOptions & { readonly signal: AbortSignal } {
    return { ...options, signal: this.#signal(options) };
  }

  /** Returns a signal that aborts with the caller's signal, and when the client is closed. */
  #signal({ signal }: CallOptions = {}): AbortSignal {
    const { signal: closed } = this.#closing;
    return signal === undefined ? closed : AbortSignal.any([signal, closed]);
  }

  #remember(id: string): void {
    const [oldest] = this.#createdMs.keys();
    if (oldest !== undefined && this.#createdMs.size >= MAX_CREATED) this.#createdMs.delete(oldest);
    this.#createdMs.set(id, this.#context.clock.monotonic());
  }

  #wait<View>(
    id: string,
    options: WaitOptions<View>,
    get: (call: CallOptions) => Promise<View>,
    isOver: (view: View) => boolean,
  ): Promise<View> {
    const signal = this.#signal(options);
    const createdMs = this.#createdMs.get(id);
    return waitUntil(this.#context, { ...options, signal }, get, isOver, createdMs);
  }
}
