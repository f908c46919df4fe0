/** One exchange over HTTP, independent of proxies and trusted certificates. */

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
  ): Promise<{
    readonly status: number;
    /** Reads the body, with limits on its size and its time. @throws as `send` */
    text(): Promise<string>;
  }>;
  /** Ends requests in flight and closes the connections. Repeatable. */
  close(): Promise<void>;
}

/** Returns true if the request failed at a proxy. */
export function isProxyFailure(error: unknown): boolean {
  return (error as { readonly failure?: unknown } | undefined)?.failure === 'proxy_failed';
}
