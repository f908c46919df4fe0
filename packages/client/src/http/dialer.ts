/** Opens connections. Checks the address just before connecting, and applies proxies and certificates. */
import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector, type Dispatcher } from 'undici';
import { NetworkError, shownErrorCode } from './network-error.ts';
import type { ProxyFor, ProxyServer } from './proxy.ts';
import type { TlsContext } from './tls-files.ts';
import { bracketed } from './web-address.ts';

/** Name lookup that returns all addresses, like node:dns with `all`. */
export type LookupAll = (
  host: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Network settings of a pool's connections. */
export interface HttpNetwork {
  /** Returns true if a host may be reached at an address. Default: always. */
  readonly allowsAddress?: (host: string, address: string) => boolean;
  readonly proxyFor: ProxyFor;
  readonly tls: TlsContext | undefined;
  readonly lookup?: LookupAll | undefined;
}

interface DialerOptions extends HttpNetwork {
  readonly timeoutMs: number;
  /** Pool of connections to proxies, for tunnels. */
  readonly proxies: Dispatcher;
}

export function dialer(options: DialerOptions): buildConnector.connector {
  const { allowsAddress = () => true, lookup = systemLookup as LookupAll, timeoutMs } = options;
  const checked = checkedLookup(allowsAddress, lookup);
  /** Connector for the current TLS context. It caches sessions, which must not outlive the certificates. */
  let built: { readonly context: unknown; readonly connect: buildConnector.connector } | undefined;

  const connectorNow = async (): Promise<buildConnector.connector> => {
    const context = await options.tls?.current();
    if (built === undefined || built.context !== context) {
      const connect = buildConnector({
        timeout: timeoutMs,
        allowH2: false,
        ...(context && { secureContext: context }),
        lookup: checked,
      } as buildConnector.BuildOptions);
      built = { context, connect };
    }
    return built.connect;
  };

  /** @throws NetworkError */
  const tunnelTo = async (target: buildConnector.Options): Promise<Socket | undefined> => {
    const { hostname, protocol, host = hostname, port } = target;
    // An IP address is checked here, because it has no lookup.
    if (isIP(hostname) !== 0 && !allowsAddress(hostname, hostname)) throw notPublic();
    const proxy = protocol === 'https:' ? options.proxyFor(new URL(`https://${host}`)) : undefined;
    if (proxy === undefined) return undefined;
    const authority = `${bracketed(hostname)}:${port || '443'}`;
    return await tunnel(options.proxies, proxy, authority, timeoutMs);
  };

  return (target, callback) => {
    Promise.all([connectorNow(), tunnelTo(target)]).then(
      ([connect, httpSocket]) => connect(httpSocket ? { ...target, httpSocket } : target, callback),
      (error: unknown) => callback(error as Error, null),
    );
  };
}

/** Looks up a name once per connection. Returns only allowed addresses, and the connection uses one of these. */
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

/** Connects to `authority` (host and port) through the proxy. @throws NetworkError */
async function tunnel(
  proxies: Dispatcher,
  proxy: ProxyServer,
  authority: string,
  timeoutMs: number,
): Promise<Socket> {
  const { credentials, url } = proxy;
  const basic = `Basic ${Buffer.from(credentials ?? '').toString('base64')}`;
  const headers = { host: authority, ...(credentials && { 'proxy-authorization': basic }) };
  const { origin, hostname: servername } = url;
  const signal = AbortSignal.timeout(timeoutMs);
  const request = { origin, path: authority, headers, servername, signal };
  const { statusCode, socket } = await proxies.connect(request).catch((error: unknown) => {
    if (signal.aborted) throw new NetworkError('connect_timeout', 'PROXY_TIMEOUT');
    throw new NetworkError('proxy_failed', shownErrorCode(error));
  });
  if (statusCode >= 200 && statusCode <= 299) return socket as Socket;
  socket.destroy();
  throw new NetworkError('proxy_failed', `HTTP_${statusCode}`);
}
