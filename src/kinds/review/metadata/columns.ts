/** Configuration of the columns of an upload. */

export interface ColumnOptions {
  /** Header of the connector's own column. */
  readonly referenceColumn: string;
  /** Header of the result in result files, if configured: no metadata column may have it. */
  readonly resultColumn?: string | undefined;
  /**
   * Limit of the metadata columns of a file, for producers that use ids as keys. Further keys are
   * carried in the reference: decisions have them, but policies do not see them.
   */
  readonly maxMetadataColumns: number;
  /** Puts an apostrophe before cells that look like a formula; decisions have the original. */
  readonly escapeFormulas: boolean;
}

export const DEFAULT_COLUMNS: ColumnOptions = {
  referenceColumn: 'connector_ref',
  maxMetadataColumns: 200,
  escapeFormulas: false,
};
