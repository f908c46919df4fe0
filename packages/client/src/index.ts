/** Main entry of the package: the client library. It loads no Kafka client. */

export { ContentReviewClient } from './client.ts';
export * from './errors.ts';
export type { ExtraHeaders } from './http/extra-headers.ts';
export type { ProxySetting } from './http/proxy.ts';
export type { TlsFiles } from './http/tls-files.ts';
export type * from './options.ts';
export type { BatchResource, DecisionResource, ImportResource } from './resources.ts';
export type { RaggedRow, ResultLabel, ResultsOptions, ReviewedRow } from './results.ts';
export type {
  BatchView as Batch,
  CreatedBatch,
  CreatedImport,
  DecisionView as Decision,
  ImportView as Import,
  LabelView as DecisionLabel,
} from './service/answers.ts';
export type { BatchStatus, DecisionStatus, ImportStatus } from './service/contract.ts';
export type { ClientUploadOptions, StreamBody, UploadSource } from './upload-source.ts';
