/** HTTP requests. The implementation handles proxies and trusted certificates. */

export interface HttpExchange {
  /** Sends a request once, without redirects. @throws the signal's reason, or an error whose `code` may be shown */
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
    /** Reads the body, with limits on size and time. @throws like `send` */
    text(): Promise<string>;
  }>;
  /** Ends requests in flight and closes the connections. Idempotent. */
  close(): Promise<void>;
}

/** Returns true if the request failed at a proxy. */
export function isProxyFailure(error: unknown): boolean {
  return (error as { readonly failure?: unknown } | undefined)?.failure === 'proxy_failed';
}
