/** The package's main entry: the client library. It loads nothing of Kafka. */

export type { ExtraHeaders } from '../http/extra-headers.ts';
export type { ProxySetting } from '../http/proxy.ts';
export type { TlsFiles } from '../http/tls-files.ts';
export type {
  BatchView as Batch,
  CreatedBatch,
  CreatedImport,
  DecisionView as Decision,
  ImportView as Import,
  LabelView as DecisionLabel,
} from '../service/answers.ts';
export type { BatchStatus, DecisionStatus, ImportStatus } from '../service/contract.ts';
export type { Batches } from './batches.ts';
export { ContentReviewClient } from './client.ts';
export type { Decisions } from './decisions.ts';
export {
  BlockedError,
  ContentReviewError,
  ExpiredError,
  NoResultsError,
  NotFoundError,
  ProtocolError,
  RejectedError,
  RequestError,
  type ServiceFailure,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  WaitTimeoutError,
} from './errors.ts';
export type { Imports } from './imports.ts';
export type { CallOptions, ContentReviewClientOptions } from './options.ts';
export type { MalformedRow, ResultLabel, ResultRow, ResultsOptions } from './results.ts';
export type { StreamBody, UploadOptions, UploadSource } from './upload-source.ts';
export type { WaitOptions } from './wait.ts';
