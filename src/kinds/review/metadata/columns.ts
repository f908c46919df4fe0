/** Configuration of the columns of an upload. */

/** Header of the connector's own column. */
export const REFERENCE_COLUMN = 'connector_ref';

export interface ColumnOptions {
  /** Metadata keys with a column for policies; undefined: all. */
  readonly columns?: readonly string[] | undefined;
  /** Header of the result in result files, if configured: no metadata column may have it. */
  readonly resultColumn?: string | undefined;
}
