/** The Content Review Service, as the rest of the connector sees it: one client per pipeline and service account. */

import { checkedHeaders } from '../http/extra-headers.ts';
import { HttpPool } from '../http/http.ts';
import { proxyChooser } from '../http/proxy.ts';
import { tlsContext } from '../http/tls-files.ts';
import type { UploadBody } from '../http/upload-body.ts';
import { Api } from './api.ts';
import { checkedBaseUrl } from './base-url.ts';
import { type BatchView, type CreatedBatch, createBatch, getBatch } from './batches.ts';
import { type DecisionView, getDecision, type LabelView } from './decisions.ts';
import { problemWithImportPath } from './import-path.ts';
import { type CreatedImport, createImport, getImport, type ImportView } from './imports.ts';
import { contextOf, type ServiceClientOptions } from './options.ts';
import { Transfer, type UploadOptions } from './transfer.ts';
import { transferPolicy } from './transfer-policy.ts';

export type { BatchView, CreatedBatch, CreatedImport, DecisionView, ImportView, LabelView };

interface Cancellable {
  readonly signal: AbortSignal;
}

/**
 * Every method throws ServiceError for what the service or the network did, and the signal's reason, at once, when aborted.
 * Failures that may pass (429, 5xx, timeouts, resets) were retried before a ServiceError `unavailable` comes out.
 */
export class ServiceClient {
  /** One for base_url and one for transfers: no transfer may use a connection that was made without looking where it leads. */
  readonly #pools: readonly HttpPool[];
  readonly #api: Api;
  readonly #transfer: Transfer;
  readonly #importPath: string;

  /** @throws TypeError when an option cannot be used. */
  constructor(options: ServiceClientOptions) {
    const context = contextOf(options);
    const { maxConcurrentRequests, maxConcurrentTransfers, importPath } = context.settings;
    const problem = problemWithImportPath(importPath);
    if (problem !== undefined) throw new TypeError(`the path of the import status ${problem}`);
    this.#importPath = importPath;
    const { allowHttp = [], transferHosts: hosts = [], allowPrivate = [], tls, lookup } = options;
    const baseUrl = checkedBaseUrl(options.baseUrl, allowHttp);
    const policy = transferPolicy({ hosts, allowHttp, allowPrivate }, baseUrl);
    const proxyFor = proxyChooser(options.proxy ?? { noProxy: [] });
    const ownTls = tlsContext(tls);
    const network = { proxyFor, lookup, tls: ownTls, proxyTls: ownTls };
    const api = new HttpPool(context.settings, maxConcurrentRequests, network);
    // The client certificate is for the service, not for whatever host it names.
    const storageTls = tlsContext(tls?.ca === undefined ? undefined : { ca: tls.ca });
    const storage = new HttpPool(context.settings, 2 * maxConcurrentTransfers, {
      ...network,
      tls: storageTls,
      proxyTls: storageTls,
      allowsAddress: policy.allowsAddress,
    });
    this.#pools = [api, storage];
    this.#api = new Api(context, api, baseUrl, options.apiKey);
    this.#transfer = new Transfer(context, storage, {
      policy,
      allowUrl: options.allowUrl ?? (() => true),
      uploadHeaders: checkedHeaders(options.uploadHeaders ?? {}),
      downloadHeaders: checkedHeaders(options.downloadHeaders ?? {}),
    });
  }

  /** Section 4.1. */
  createBatch(type: string, { signal }: Cancellable): Promise<CreatedBatch> {
    return createBatch(this.#api, type, signal);
  }

  /** Section 4.2. 404 and 410 are ServiceError `not_found`. */
  getBatch(batchId: string, { signal }: Cancellable): Promise<BatchView> {
    return getBatch(this.#api, batchId, signal);
  }

  /** Section 4.3. */
  createImport({ signal }: Cancellable): Promise<CreatedImport> {
    return createImport(this.#api, signal);
  }

  /** Section 4.4, at `importPath`. 404 and 410 are ServiceError `not_found`. */
  getImport(importId: string, { signal }: Cancellable): Promise<ImportView> {
    return getImport(this.#api, this.#importPath, importId, signal);
  }

  /** Section 4.5. 404 and 410 are ServiceError `not_found`. */
  getDecision(decisionId: string, { signal }: Cancellable): Promise<DecisionView> {
    return getDecision(this.#api, decisionId, signal);
  }

  /** See Transfer.upload. */
  upload(uploadUrl: string, body: UploadBody, options: UploadOptions): Promise<void> {
    return this.#transfer.upload(uploadUrl, body, options);
  }

  /** See Transfer.download. */
  download(downloadUrl: string, options: Cancellable): AsyncGenerator<Buffer, void, void> {
    return this.#transfer.download(downloadUrl, options);
  }

  /** Ends what is under way with an AbortError and frees the connections. Repeatable. */
  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }
}
