/**
 * Texts of the wait reasons (docs/operations.md). `warn` needs a look; `calm` is part of normal
 * operation.
 * @type {Readonly<Record<string, { level: 'warn' | 'calm', runbook: string, title: string, short: string, text: string }>>}
 */
export const REASONS = {
  memory: {
    level: 'calm',
    runbook: 'ContentReviewIntakePaused',
    title: 'Intake is waiting for memory',
    short: 'memory',
    text: 'The budget is used up: the service is slower than the source. Normal while catching up.',
  },
  work_memory: {
    level: 'calm',
    runbook: 'ContentReviewIntakePaused',
    title: 'Settling is waiting for memory',
    short: 'memory',
    text: 'Uploads in flight use the budget. If this lasts, raise memory.budget.',
  },
  in_flight: {
    level: 'warn',
    runbook: 'ContentReviewIntakePaused',
    title: 'A partition is waiting for records under review',
    short: 'records under review',
    text: 'It has as many records in flight as source.maxInFlight allows: check the oldest batches below.',
  },
  unauthorized: {
    level: 'warn',
    runbook: 'ContentReviewUnauthorized',
    title: 'The service refuses the API key',
    short: 'the API key',
    text: 'It responds with 401 or 403. Check the key; a rotated key file is reloaded automatically.',
  },
  type_rejected: {
    level: 'warn',
    runbook: 'ContentReviewTypePaused',
    title: 'The service refuses a content type',
    short: 'its type',
    text: 'Its records wait. See review.onRejectedType and source.types.',
  },
  type_failing: {
    level: 'warn',
    runbook: 'ContentReviewTypePaused',
    title: 'Batches of a content type keep failing',
    short: 'its type',
    text: 'One batch at a time is tried. Check the service.',
  },
  service_unavailable: {
    level: 'warn',
    runbook: 'ContentReviewServiceUnavailable',
    title: 'The service is unavailable',
    short: 'the service',
    text: 'It is unreachable, overloaded or returns errors. Nothing is lost; calls are retried.',
  },
  bad_answer: {
    level: 'warn',
    runbook: 'ContentReviewServiceUnavailable',
    title: 'The service sends invalid responses',
    short: 'a valid response',
    text: 'A proxy may respond in its place. The log names the call and the error. Calls are retried.',
  },
  upload: {
    level: 'calm',
    runbook: 'ContentReviewServiceUnavailable',
    title: 'Uploads are slow',
    short: 'the upload',
    text: 'Normal for large batches; otherwise check the storage.',
  },
  download: {
    level: 'calm',
    runbook: 'ContentReviewServiceUnavailable',
    title: 'Result downloads are slow',
    short: 'the download',
    text: 'Rows arrive slowly: check the storage.',
  },
  permit: {
    level: 'calm',
    runbook: 'ContentReviewBatchStuck',
    title: 'Calls are waiting for a free slot',
    short: 'a free slot',
    text: 'As many calls are in flight as service.concurrency allows.',
  },
  schema_registry: {
    level: 'warn',
    runbook: 'ContentReviewSchemaRegistryUnavailable',
    title: 'The schema registry is unavailable',
    short: 'schemas',
    text: 'It is unreachable or refuses this connector. Requests are retried.',
  },
  encode: {
    level: 'calm',
    runbook: 'ContentReviewBatchStuck',
    title: 'Encoding a batch is slow',
    short: 'the encoding',
    text: 'CPU time is short.',
  },
  kafka: {
    level: 'warn',
    runbook: 'ContentReviewKafkaSilent',
    title: 'Kafka is slow',
    short: 'Kafka',
    text: 'A transaction, a request or a read takes five seconds or more.',
  },
  no_leader: {
    level: 'warn',
    runbook: 'ContentReviewIntakeStopped',
    title: 'A source partition has no leader',
    short: 'a leader',
    text: 'The brokers that hold it are down. The other partitions continue.',
  },
  membership: {
    level: 'warn',
    runbook: 'ContentReviewNotReady',
    title: 'Group membership is unconfirmed',
    short: 'the group',
    text: 'Uploads and claims wait for a heartbeat that confirms the membership of this instance.',
  },
  order: {
    level: 'calm',
    runbook: 'ContentReviewBatchStuck',
    title: 'Batches are waiting for earlier ones',
    short: 'earlier batches',
    text: 'output.order is source, and an earlier batch is not settled.',
  },
  paused: {
    level: 'calm',
    runbook: 'ContentReviewIntakeStopped',
    title: 'Held by an operator',
    short: 'an operator',
    text: 'The pipeline or a content type is paused or drained; resume continues it.',
  },
  claim: {
    level: 'calm',
    runbook: 'ContentReviewNotReady',
    title: 'A shard is being claimed',
    short: 'the claim',
    text: 'Takes seconds after joining the group; if it lasts, check the brokers.',
  },
};

/** Wait reason of a batch, in words. @param {string | null} reason */
export function waitsFor(reason) {
  if (reason === null) return '';
  if (reason === 'review') return 'the review';
  return Object.hasOwn(REASONS, reason)
    ? /** @type {{ short: string }} */ (REASONS[reason]).short
    : reason;
}
