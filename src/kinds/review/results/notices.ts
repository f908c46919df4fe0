/** Deviations of result files from the interface: tolerated, and logged once each. */

/** Log message of each kind of notice. */
export const NOTICES = {
  unknown_status: 'result files have a status that the interface does not define',
  labels_not_json: 'result files have labels that are not JSON',
  missing_column: 'result files lack a column that the interface promises; decisions omit it',
  missing_result_column:
    'result files have no result column ("… result"), so decisions have no result; if it has another name, set review.resultColumn',
  several_result_columns:
    'result files have more than one result column ("… result"); set review.resultColumn to choose one',
} as const;

export interface ResultNotice {
  readonly kind: keyof typeof NOTICES;
  /** Never content (I6). */
  readonly value: string;
}
