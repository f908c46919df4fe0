/** Where a batch's files are: in the storage's directories, and at its addresses. */
export const STORAGE_PREFIX = '/storage';
export const UPLOADS_PATH = `${STORAGE_PREFIX}/uploads`;
export const RESULTS_PATH = `${STORAGE_PREFIX}/results`;

/** Name of a batch's file, both of its upload and of its results. */
export const fileName = (batchId: string): string => `${batchId}.csv`;
