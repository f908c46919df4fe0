/** Opens connections: where an address leads is looked at here, at the last moment, and proxies and certificates come in. */
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { buildConnector } from 'undici';
import { NetworkError } from './network-error.ts';
import type { ProxyFor, ProxyServer } from './proxy.ts';
import type { TlsContext } from './tls-files.ts';

/** Names to addresses, as node:dns does it with `all`. */
export type LookupAll = (
  host: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ConnectorOptions {
  readonly timeoutMs: number;
  /** Whether a host may be connected to at an address. Default: at any. */
  readonly allowsAddress?: ((host: string, address: string) => boolean) | undefined;
  readonly proxyFor: ProxyFor;
  readonly tls: TlsContext | undefined;
  /** For proxies that are reached by https. */
  readonly proxyTls: TlsContext | undefined;
  /** Ends what is being connected to. */
  readonly closed: AbortSignal;
  readonly lookup?: LookupAll | undefined;
}

export function connector(options: ConnectorOptions): buildConnector.connector {
  const connects = new Connects(options);
  return (target, callback) => {
    connects.open(target).then(
      (connect) => connect(callback),
      (error: unknown) => callback(error as Error, null),
    );
  };
}

class Connects {
  readonly #options: ConnectorOptions;
  readonly #lookup: LookupFunction;
  /** One for each TLS context: it remembers sessions, which must not outlive the certificates that they were made with. */
  #built: { readonly context: unknown; readonly connect: buildConnector.connector } | undefined;

  constructor(options: ConnectorOptions) {
    this.#options = options;
    const { allowsAddress = () => true, lookup = systemLookup as LookupAll } = options;
    this.#lookup = checkedLookup(allowsAddress, lookup);
  }

  /** @throws NetworkError */
  async open(target: buildConnector.Options): Promise<(callback: buildConnector.Callback) => void> {
    const { allowsAddress, proxyFor, timeoutMs, proxyTls, closed } = this.#options;
    const { hostname } = target;
    // No name, no lookup.
    if (allowsAddress !== undefined && isIP(hostname) !== 0 && !allowsAddress(hostname, hostname))
      throw notPublic();
    const proxy = proxyFor(new URL(`${target.protocol}//${target.host ?? hostname}`));
    const connect = await this.#connect();
    if (proxy === undefined || target.protocol !== 'https:')
      return (callback) => connect(target, callback);
    const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${target.port || '443'}`;
    const httpSocket = await tunnel(proxy, authority, {
      timeoutMs,
      closed,
      secureContext: await proxyTls?.current(),
    });
    return (callback) => connect({ ...target, httpSocket }, callback);
  }

  async #connect(): Promise<buildConnector.connector> {
    const context = await this.#options.tls?.current();
    if (this.#built?.context !== context || this.#built === undefined) {
      const connect = buildConnector({
        timeout: this.#options.timeoutMs,
        allowH2: false,
        ...(context === undefined ? {} : { secureContext: context }),
        lookup: this.#lookup,
      } as buildConnector.BuildOptions);
      this.#built = { context, connect };
    }
    return this.#built.connect;
  }
}

/** What a name resolves to is asked once for each connection, and that answer is checked: no time for it to change in between. */
function checkedLookup(
  allows: (host: string, address: string) => boolean,
  lookup: LookupAll,
): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '');
      const allowed = addresses.filter(({ address }) => allows(host, address));
      const [first] = allowed;
      if (first === undefined) return callback(notPublic(), '');
      if (options.all === true) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}

function notPublic(): NetworkError {
  return new NetworkError('blocked', 'ADDRESS_NOT_PUBLIC');
}

/** A connection to `authority`, host and port, through the proxy (RFC 9110, 9.3.6). @throws NetworkError */
async function tunnel(
  proxy: ProxyServer,
  authority: string,
  {
    timeoutMs,
    closed,
    secureContext,
  }: { timeoutMs: number; closed: AbortSignal; secureContext: SecureContext | undefined },
): Promise<Socket> {
  const headers = { host: authority, ...(await proxyHeaders(proxy)) };
  const { protocol, hostname, port } = proxy.url;
  const secure = protocol === 'https:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return await new Promise<Socket>((resolve, reject) => {
    const timer = setTimeout(
      () => request.destroy(new NetworkError('connect_timeout', 'PROXY_TIMEOUT')),
      timeoutMs,
    );
    const request = (secure ? httpsRequest : httpRequest)({
      ...(secure && secureContext !== undefined ? { secureContext } : {}),
      // Node would take the header Host for the proxy's name, which is where the tunnel leads to.
      ...(secure ? { servername: isIP(host) === 0 ? host : '' } : {}),
      host,
      port: port || (secure ? 443 : 80),
      method: 'CONNECT',
      path: authority,
      headers,
      agent: false,
      signal: closed,
    });
    request.once('connect', ({ statusCode = 0 }, socket, head) => {
      clearTimeout(timer);
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy();
        return reject(new NetworkError('proxy_failed', `HTTP_${statusCode}`));
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
    request.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      const code = /^[A-Z][A-Z0-9_]{0,63}$/.test(error.code ?? '') ? String(error.code) : 'UNKNOWN';
      reject(error instanceof NetworkError ? error : new NetworkError('proxy_failed', code));
    });
    request.end();
  });
}

/** What a proxy needs to let a request through. @throws NetworkError when the credentials cannot be had */
export async function proxyHeaders({ credentials }: ProxyServer): Promise<Record<string, string>> {
  if (credentials === undefined) return {};
  let userAndPassword: string;
  try {
    userAndPassword = await credentials();
  } catch {
    throw new NetworkError('proxy_failed', 'NO_CREDENTIALS');
  }
  return { 'proxy-authorization': `Basic ${Buffer.from(userAndPassword).toString('base64')}` };
}
