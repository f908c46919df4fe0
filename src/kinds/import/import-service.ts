/** What an import needs of the Content Review Service. `src/service/client.ts` satisfies it; a test may script it. */

export interface CreatedImport {
  readonly importId: string;
  /** Presigned and secret (I6). */
  readonly uploadUrl: string;
}

export interface ImportState {
  /** import_status as the service spelled it. */
  readonly rawStatus: string;
}

interface CallOptions {
  readonly signal: AbortSignal;
}

/** Every method rejects with ServiceError, or with the signal's reason. */
export interface ImportService {
  /** POST /v1/import (service-interface.md 4.3). */
  createImport(options: CallOptions): Promise<CreatedImport>;
  /** GET of an import's status (4.4). */
  getImport(importId: string, options: CallOptions): Promise<ImportState>;
  /** PUT to a presigned address: Content-Length, exactly this Content-Type, no Authorization (4.3, 5.3). */
  upload(
    url: string,
    body: Buffer,
    options: CallOptions & { readonly contentType: string },
  ): Promise<unknown>;
}
