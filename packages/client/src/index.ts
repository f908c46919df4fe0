/** Main entry of the package: the client library. It loads no Kafka client. */

export { ServiceError, type ServiceFailure } from './base/service-error.ts';
export { ContentReviewClient } from './client.ts';
export type { ExtraHeaders } from './http/extra-headers.ts';
export type { TlsFiles } from './http/tls-files.ts';
export type {
  BatchView as Batch,
  CreatedBatch,
  CreatedImport,
  DecisionView as Decision,
  ImportView as Import,
} from './service/answers.ts';
export type { BatchStatus, DecisionStatus, ImportStatus } from './service/contract.ts';
export type {
  CallOptions,
  ContentReviewClientOptions,
  DownloadOptions,
  WaitOptions,
} from './service/options.ts';
export type { StreamBody, UploadSource } from './upload-source.ts';
