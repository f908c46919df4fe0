import {
  DEAD_LETTER_REASONS,
  type DeadLetterReason,
} from '../../src/core/outcome/dead-letter-reason.ts';
import type { JobFailure } from '../../src/core/outcome/failure-row.ts';
import { FAILURE_TABLE } from '../../src/core/outcome/failure-table.ts';
import { table } from './markdown.ts';

const SEND_AGAIN = 'Send the event again later, or have a person decide';
const OPERATOR = 'Report it to the operator of the connector; then send the event again';

/** Remedies for ERROR decisions, by the cause of the failed batch. */
const AFTER_BATCH: Readonly<Record<JobFailure, string>> = {
  batch_failed: SEND_AGAIN,
  batch_cancelled: 'Clarify who cancelled the batch at the service; then send the event again',
  batch_unknown: OPERATOR,
  upload_lost: OPERATOR,
  upload_expired: OPERATOR,
  upload_rejected: OPERATOR,
  upload_too_large: 'Shorten the content, or have a person decide',
  upload_blocked: OPERATOR,
  results_unreadable: OPERATOR,
  rows_missing: SEND_AGAIN,
  rows_malformed: SEND_AGAIN,
  rows_failed: SEND_AGAIN,
  review_timeout: 'Have a person decide: the review takes longer than the pipeline waits',
};

/** Codes that are not causes of failed batches: code, meaning, remedy. */
const OTHER_CODES: readonly (readonly [code: string, meaning: string, remedy: string])[] = [
  ['review_failed', 'The service reported an error for this item', SEND_AGAIN],
  [
    'encoding_failed',
    'The decision could not be encoded in the output format',
    'Report it to the operator of the connector',
  ],
  [
    'decision_unknown',
    'Lookup: the service does not know the id',
    'Correct the id, or the address of the service',
  ],
  ['decision_refused', 'Lookup: the service refuses the id', 'Correct the id'],
  ['decision_unreadable', 'Lookup: the responses stayed invalid until the timeout', OPERATOR],
];

type Explained = readonly [meaning: string, remedy: string];

const REASONS: Readonly<Record<DeadLetterReason, Explained>> = {
  null_value: ['The record has no value', 'Send no tombstones, or set `source.nullValues: skip`'],
  not_json: ['The value is not JSON, or not UTF-8', 'Correct the producer'],
  not_an_object: ['The value is JSON, but not an object', 'Correct the producer'],
  unknown_schema: [
    'The registry does not know the schema id of the value',
    'Register the schema, or use the registry of the connector; then replay',
  ],
  unreadable_batch: [
    'The record batch is damaged, or compressed with an unknown codec',
    'Send the events again: only their coordinates are known',
  ],
  too_many_headers: [
    'The record has more than 1,000 headers',
    'Send it again with fewer headers: only its coordinates are known',
  ],
  undecodable: ['The bytes do not match their schema or format', 'Correct the producer'],
  mapping_failed: [
    'An expression of the mapping failed on this event',
    'Correct the event or `source.mapping`; then replay',
  ],
  bad_content: ['The content is not a string', 'Correct the producer or `source.mapping.content`'],
  no_content: ['The content is missing', 'Correct the producer or `source.mapping.content`'],
  empty_content: ['The content is empty', 'Send no event without content'],
  no_type: [
    'The content type is missing or not a string',
    'Correct the producer or `source.mapping.type`',
  ],
  type_not_allowed: [
    'The content type is not in `source.types`, or not in the map of types',
    'Correct the type, or allow it; then replay',
  ],
  too_many_types: [
    'More than 100 content types are in use',
    'Correct the producer, or list the types in `source.types`; then replay',
  ],
  bad_metadata: [
    'The metadata are not an object, or nest more than 64 levels',
    'Correct the producer or `source.mapping.metadata`',
  ],
  too_large: [
    'The record, its content, its metadata or its decision is larger than allowed',
    'Send less, or raise the limit that the message names; then replay',
  ],
  source_unavailable: [
    'The record was needed again, and retention has removed it',
    'Send the event again, and lengthen the retention of the source topic',
  ],
  rejected_type: [
    'The service rejects the content type',
    'Correct the type, or have it set up at the service; then replay',
  ],
  review_failed: [
    'The review failed permanently, and `review.onFailure` is `deadLetter`',
    'As for the ERROR decision whose code the message names',
  ],
  internal_error: [
    'A defect of the connector; only the coordinates are given',
    'Report the defect, with the log',
  ],
};

/** docs/outcomes.md: every error code and dead-letter reason. */
export function outcomesPage(): string {
  const failures = FAILURE_TABLE.flatMap(({ event, job }) =>
    job === undefined ? [] : [[job.failure, event, AFTER_BATCH[job.failure]] as const],
  );
  const codes = [...OTHER_CODES, ...failures].map(([name, ...rest]) => [code(name), ...rest]);
  const reasons = DEAD_LETTER_REASONS.map((reason) => [code(reason), ...REASONS[reason]]);
  return `# Error codes and dead-letter reasons

Generated by \`npm run generate\` from the lists in the code; do not edit.
[consuming.md](consuming.md) explains how to read both topics. More codes and reasons may be added
within a version: treat an unknown one like any other.

## Error codes

\`error.code\` of a decision with status ERROR, of a looked-up decision or of a receipt. The connector
has already retried, and halved batches to isolate the record ([failures.md](failures.md)).

${table(['Code', 'Meaning', 'What to do'], codes)}

## Dead-letter reasons

Header \`dead-letter-reason\`; \`dead-letter-message\` names the field. *Replay* is
\`dead-letters replay\` ([tools.md](tools.md)), which sends the original again as a new event.

${table(['Reason', 'Meaning', 'What to do'], reasons)}
`;
}

const code = (text: string): string => `\`${text}\``;
