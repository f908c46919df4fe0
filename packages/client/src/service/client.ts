/** Client of the Content Review Service: one per pipeline and service account. */
import { checkedHeaders } from '../http/extra-headers.ts';
import { HttpPool } from '../http/http.ts';
import { proxyChooser } from '../http/proxy.ts';
import { tlsContext } from '../http/tls-files.ts';
import type { UploadBody } from '../http/upload-body.ts';
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
} from './answers.ts';
import { Api } from './api.ts';
import { PATHS } from './contract.ts';
import {
  checkedBaseUrl,
  contextOf,
  IMPORT_ID_PLACEHOLDER,
  problemWithImportPath,
  type ServiceClientOptions,
} from './options.ts';
import { Transfer, type TransferCall, type UploadCall } from './transfer.ts';
import { transferPolicy } from './transfer-policy.ts';

/**
 * Every method throws ServiceError for a failure of the service or the network, and the signal's
 * reason, at once, when aborted. Transient failures (429, 5xx, timeouts, resets) are retried before
 * a ServiceError `unavailable` is thrown.
 */
export class ServiceClient {
  /** For baseUrl, and for transfers, whose connections are all checked by address. */
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

    const { allowHttp = [], transferHosts: hosts = [], allowPrivate = [], tls } = options;
    const baseUrl = checkedBaseUrl(options.baseUrl, allowHttp);
    const policy = transferPolicy({ hosts, allowHttp, allowPrivate }, baseUrl);
    const ownTls = tlsContext(tls);
    // The client certificate is for the service, not for the hosts that it names.
    const storageTls = tlsContext(tls?.ca && { ca: tls.ca });
    const network = {
      proxyFor: proxyChooser(options.proxy ?? { noProxy: [] }),
      lookup: options.lookup,
    };
    const api = new HttpPool(context.settings, maxConcurrentRequests, {
      ...network,
      tls: ownTls,
      proxyTls: ownTls,
    });
    const [upload, download] = [0, 1].map(
      () =>
        new HttpPool(context.settings, maxConcurrentTransfers, {
          ...network,
          tls: storageTls,
          proxyTls: storageTls,
          allowsAddress: policy.allowsAddress,
        }),
    ) as [HttpPool, HttpPool];
    this.#pools = [api, upload, download];
    this.#api = new Api(context, api, baseUrl, options.apiKey);
    this.#transfer = new Transfer(
      context,
      { upload, download },
      {
        policy,
        uploadHeaders: checkedHeaders(options.uploadHeaders ?? {}),
      },
    );
  }

  createBatch(type: string, { signal }: TransferCall): Promise<CreatedBatch> {
    return this.#api.create('batch', PATHS.batches, readCreatedBatch, signal, { type });
  }

  getBatch(batchId: string, { signal }: TransferCall): Promise<BatchView> {
    return this.#api.get('batch', batchId, PATHS.batch, readBatch, signal);
  }

  createImport({ signal }: TransferCall): Promise<CreatedImport> {
    return this.#api.create('import', PATHS.imports, readCreatedImport, signal);
  }

  /** Status of an import, at `importPath`. */
  getImport(importId: string, { signal }: TransferCall): Promise<ImportView> {
    const pathOf = (id: string) =>
      this.#importPath.replaceAll(IMPORT_ID_PLACEHOLDER, () => encodeURIComponent(id));
    return this.#api.get('import', importId, pathOf, readImport, signal);
  }

  getDecision(decisionId: string, { signal }: TransferCall): Promise<DecisionView> {
    return this.#api.get('decision', decisionId, PATHS.decision, readDecision, signal);
  }

  /** See Transfer.upload. */
  upload(uploadUrl: string, body: UploadBody, call: UploadCall): Promise<void> {
    return this.#transfer.upload(uploadUrl, body, call);
  }

  /** See Transfer.download. */
  download(downloadUrl: string, call: TransferCall): AsyncGenerator<Buffer, void, void> {
    return this.#transfer.download(downloadUrl, call);
  }

  /** Ends every call in flight with an AbortError and frees the connections. Repeatable. */
  async close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }
}
