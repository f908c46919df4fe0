/** One exchange over HTTP. How it gets there, by which proxy and with whose certificates trusted, is its maker's business. */

export interface HttpExchange {
  /** Follows no redirect, retries nothing. @throws an error whose `code`, and `failure` if any, may be shown; or the signal's reason */
  send(
    request: {
      readonly method: 'GET' | 'POST' | 'PUT';
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: Buffer;
    },
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly body: AsyncIterable<Buffer> }>;
  /** Ends what is under way and frees the connections. Repeatable. */
  close(): Promise<void>;
}

/** Whether an error says that the request ended at a proxy. */
export function isProxyFailure(error: unknown): boolean {
  return (error as { readonly failure?: unknown } | undefined)?.failure === 'proxy_failed';
}
