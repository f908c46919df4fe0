/** Configuration of the columns of an upload. */

export interface ColumnOptions {
  /** Header of the connector's own column. */
  readonly referenceColumn: string;
  /** Header of the result in the files that come back, where it is configured: no metadata column has it. */
  readonly resultColumn?: string | undefined;
  /**
   * Columns for metadata in one file. The keys that come after travel inside the reference: they come back all the
   * same, but a policy does not see them. Keeps a producer that uses ids as keys from multiplying rows by columns.
   */
  readonly maxMetadataColumns: number;
  /** Puts an apostrophe before cells that a spreadsheet would take for a formula. All of them come back as they were. */
  readonly escapeFormulas: boolean;
}

export const DEFAULT_COLUMNS: ColumnOptions = {
  referenceColumn: 'connector_ref',
  maxMetadataColumns: 200,
  escapeFormulas: false,
};
