/** @typedef {{ level: 'warn' | 'calm', runbook: string, short: string, title: string, text: string }} Reason */

/** @param {Reason['level']} level @returns {(page: string, short: string, title: string, text: string) => Reason} */
const reason = (level) => (page, short, title, text) => ({
  ...{ level, runbook: `ContentReview${page}`, short, title, text },
});
const warn = reason('warn');
const calm = reason('calm');

/**
 * Texts of the wait reasons (docs/operations.md). `warn` needs a look; `calm` is part of normal
 * operation.
 * @type {Readonly<Record<string, Reason>>}
 */
export const REASONS = {
  memory: calm(
    'IntakePaused',
    'memory',
    'Intake is waiting for memory',
    'The budget is used up: the service is slower than the source. Normal while catching up.',
  ),
  work_memory: calm(
    'IntakePaused',
    'memory',
    'Settling is waiting for memory',
    'Uploads in flight use the budget. If this lasts, raise memory.budget.',
  ),
  in_flight: warn(
    'IntakePaused',
    'records under review',
    'A partition is waiting for records under review',
    'It has as many records in flight as source.maxInFlight allows: check the oldest batches below.',
  ),
  unauthorized: warn(
    'Unauthorized',
    'the API key',
    'The service refuses the API key',
    'It responds with 401 or 403. Check the key; a rotated key file is reloaded automatically.',
  ),
  type_rejected: warn(
    'TypePaused',
    'its type',
    'The service refuses a content type',
    'Its records wait. See review.onRejectedType and source.types.',
  ),
  type_failing: warn(
    'TypePaused',
    'its type',
    'Batches of a content type keep failing',
    'One batch at a time is tried. Check the service.',
  ),
  service_unavailable: warn(
    'ServiceUnavailable',
    'the service',
    'The service is unavailable',
    'It is unreachable, overloaded or returns errors. Nothing is lost; calls are retried.',
  ),
  bad_answer: warn(
    'ServiceUnavailable',
    'a valid response',
    'The service sends invalid responses',
    'A proxy may respond in its place. The log names the call and the error. Calls are retried.',
  ),
  upload: calm(
    'ServiceUnavailable',
    'the upload',
    'Uploads are slow',
    'Normal for large batches; otherwise check the storage.',
  ),
  download: calm(
    'ServiceUnavailable',
    'the download',
    'Result downloads are slow',
    'Rows arrive slowly: check the storage.',
  ),
  permit: calm(
    'BatchStuck',
    'a free slot',
    'Calls are waiting for a free slot',
    'As many calls are in flight as service.concurrency allows.',
  ),
  schema_registry: warn(
    'SchemaRegistryUnavailable',
    'schemas',
    'The schema registry is unavailable',
    'It is unreachable or refuses this connector. Requests are retried.',
  ),
  encode: calm('BatchStuck', 'the encoding', 'Encoding a batch is slow', 'CPU time is short.'),
  kafka: warn(
    'KafkaSilent',
    'Kafka',
    'Kafka is slow',
    'A transaction, a request or a read takes five seconds or more.',
  ),
  no_leader: warn(
    'IntakeStopped',
    'a leader',
    'A source partition has no leader',
    'The brokers that hold it are down. The other partitions continue.',
  ),
  membership: warn(
    'NotReady',
    'the group',
    'Group membership is unconfirmed',
    'Uploads and claims wait for a heartbeat that confirms the membership of this instance.',
  ),
  order: calm(
    'BatchStuck',
    'earlier batches',
    'Batches are waiting for earlier ones',
    'output.order is source, and an earlier batch is not settled.',
  ),
  paused: calm(
    'IntakeStopped',
    'an operator',
    'Held by an operator',
    'The pipeline or a content type is paused or drained; resume continues it.',
  ),
  claim: calm(
    'NotReady',
    'the claim',
    'A shard is being claimed',
    'Takes seconds after joining the group; if it lasts, check the brokers.',
  ),
};

/** Wait reason of a batch, in words. @param {string | null} reason */
export function waitsFor(reason) {
  if (reason === null) return '';
  if (reason === 'review') return 'the review';
  return REASONS[reason]?.short ?? reason;
}
