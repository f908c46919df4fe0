/** @typedef {{ level: 'warn' | 'calm', runbook: string, title: string, text: string }} Reason */

/** @param {Reason['level']} level @returns {(page: string, title: string, text: string) => Reason} */
const reason = (level) => (page, title, text) => ({
  ...{ level, runbook: `ContentReview${page}`, title, text },
});
const warn = reason('warn');
const calm = reason('calm');

/**
 * Texts of the wait reasons (docs/operating.md). `warn` needs a look; `calm` is part of normal
 * operation.
 * @type {Readonly<Record<string, Reason>>}
 */
export const REASONS = {
  memory: calm(
    'IntakePaused',
    'Work is waiting for memory',
    'The budget is used up: the service is slower than the source. Normal while catching up; if it lasts, raise memory.budget.',
  ),
  in_flight: warn(
    'IntakePaused',
    'A partition is waiting for records under review',
    'It has as many records in flight as source.maxInFlight allows: check the oldest batches below.',
  ),
  unauthorized: warn(
    'Unauthorized',
    'The service refuses the API key',
    'It responds with 401 or 403. Check the key; a rotated key file is reloaded automatically.',
  ),
  service: warn(
    'ServiceUnavailable',
    'The service is unavailable',
    'It is unreachable, overloaded or sends unusable responses. The log names the call and the error. Calls are retried.',
  ),
  type_blocked: warn(
    'TypePaused',
    'A content type is blocked',
    'The service refuses it, or its batches keep failing. One batch at a time is tried.',
  ),
  transfer: calm(
    'BatchStuck',
    'Transfers are slow',
    'An upload, download or encoding takes long, or as many calls are in flight as service.concurrency allows. Normal for large batches; otherwise check the storage.',
  ),
  schema_registry: warn(
    'SchemaRegistryUnavailable',
    'The schema registry is unavailable',
    'It is unreachable or refuses this connector. Requests are retried.',
  ),
  kafka: warn(
    'KafkaSilent',
    'Kafka is slow',
    'A request, a claim or a confirmed membership takes seconds, or a partition has no leader.',
  ),
  paused: calm(
    'IntakeStopped',
    'Held by an operator',
    'The pipeline or a content type is paused or drained; resume continues it.',
  ),
};
