/** What a lookup needs of the Content Review Service. `src/service/client.ts` satisfies it; a test may script it. */

export interface LookedUpDecision {
  /** decision_status as the service spelled it. */
  readonly rawStatus: string;
  /** JSON text of the metadata object, digits as they came. */
  readonly metadataJson: string;
  readonly result: string | null;
  /** JSON text of the label objects, digits as they came; null when the service gave none. */
  readonly labelsJson: string | null;
}

export interface LookupService {
  /** GET /v1/decisions/{decision_id} (service-interface.md 4.5). Rejects with ServiceError, or with the signal's reason. */
  getDecision(
    decisionId: string,
    options: { readonly signal: AbortSignal },
  ): Promise<LookedUpDecision>;
}
