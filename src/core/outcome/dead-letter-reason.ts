/** Reasons for dead letters. Each is a value of a metric label, so the list is closed. */
export const DEAD_LETTER_REASONS = [
  'null_value',
  'not_json',
  'not_an_object',
  'unknown_schema',
  'unreadable_batch',
  'too_many_headers',
  'undecodable',
  'mapping_failed',
  'no_content',
  'empty_content',
  'no_type',
  'type_not_allowed',
  'too_many_types',
  'bad_metadata',
  'too_large',
  'source_unavailable',
  'rejected_type',
  'review_failed',
  'internal_error',
] as const;

export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];
