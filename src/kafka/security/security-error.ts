/** Failure to reach a protected cluster, in one sentence that names the option to change. Never holds a secret. */
export class SecurityError extends Error {
  override readonly name = 'SecurityError';
  /** kafkajs retries only errors that are. */
  readonly retriable: boolean;

  constructor(
    message: string,
    { retriable = false, ...options }: ErrorOptions & { readonly retriable?: boolean } = {},
  ) {
    super(message, options);
    this.retriable = retriable;
  }
}

/** The first of them in an error and its causes. */
export function securityErrorOf(error: unknown): SecurityError | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at instanceof SecurityError) return at;
  }
  return undefined;
}
