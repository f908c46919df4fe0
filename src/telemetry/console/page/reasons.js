/**
 * What the reasons to wait mean (docs/operations.md). `level`: whether somebody should look, or it is a part of a day's work.
 * @type {Readonly<Record<string, { level: 'warn' | 'calm', title: string, short: string, text: string }>>}
 */
export const REASONS = {
  memory: {
    level: 'calm',
    title: 'Intake waits for memory',
    short: 'memory',
    text: 'The budget is in use: the service is slower than the source. Normal while catching up.',
  },
  work_memory: {
    level: 'calm',
    title: 'Settling waits for memory',
    short: 'memory',
    text: 'Uploads under way hold the budget. If it lasts, raise memory.budget.',
  },
  span: {
    level: 'warn',
    title: 'A partition waits for records under review',
    short: 'records under review',
    text: 'As much of it is under way as source.maxInFlight allows: look at the oldest batches below.',
  },
  unauthorized: {
    level: 'warn',
    title: 'The service refuses the API key',
    short: 'the API key',
    text: 'It answers 401 or 403. Check the key; a rotated key file is read again by itself.',
  },
  type_rejected: {
    level: 'warn',
    title: 'The service refuses a content type',
    short: 'its type',
    text: 'Its records wait. See review.onRejectedType and source.types.',
  },
  type_failing: {
    level: 'warn',
    title: 'Batches of a content type keep failing',
    short: 'its type',
    text: 'One batch is tried at a time. Look at the service.',
  },
  service_unavailable: {
    level: 'warn',
    title: 'The service does not answer',
    short: 'the service',
    text: 'It cannot be reached, is overloaded, or answers with errors. Nothing is lost; it goes on by itself.',
  },
  bad_answer: {
    level: 'warn',
    title: 'The service gives answers that make no sense',
    short: 'an answer that makes sense',
    text: 'Perhaps a proxy answers in its place. The log names the call and what is wrong. It is asked again.',
  },
  upload: {
    level: 'calm',
    title: 'Uploads take long',
    short: 'the upload',
    text: 'Normal for large batches; else look at the storage.',
  },
  download: {
    level: 'calm',
    title: 'Result files come slowly',
    short: 'the download',
    text: 'Rows are long in coming: look at the storage.',
  },
  permit: {
    level: 'calm',
    title: 'Work waits for its turn',
    short: 'its turn',
    text: 'As much is under way as service.concurrency allows.',
  },
  schema_registry: {
    level: 'warn',
    title: 'The schema registry does not answer',
    short: 'schemas',
    text: 'It cannot be reached, or refuses this connector. It goes on by itself.',
  },
  encode: {
    level: 'calm',
    title: 'A batch takes long to encode',
    short: 'the encoding',
    text: 'Processor time is short.',
  },
  kafka: {
    level: 'warn',
    title: 'The brokers are slow to answer',
    short: 'Kafka',
    text: 'A transaction, a question or a read takes five seconds or more.',
  },
  no_leader: {
    level: 'warn',
    title: 'A source partition has no leader',
    short: 'a leader',
    text: 'The brokers that hold it are away. The other partitions go on.',
  },
  membership: {
    level: 'warn',
    title: 'The group has not been heard from',
    short: 'the group',
    text: 'Uploads and claims wait for a sign that this instance still belongs to it.',
  },
  order: {
    level: 'calm',
    title: 'Batches wait for their turn to publish',
    short: 'earlier batches',
    text: 'output.order is source: an earlier batch is not through.',
  },
  claim: {
    level: 'calm',
    title: 'A shard is being taken over',
    short: 'the claim',
    text: 'Seconds after a join; if it lasts, look at the brokers.',
  },
};

/** Of a batch. @param {string | null} reason */
export function waitsFor(reason) {
  if (reason === null) return '';
  if (reason === 'review') return 'the review';
  return Object.hasOwn(REASONS, reason)
    ? /** @type {{ short: string }} */ (REASONS[reason]).short
    : reason;
}
