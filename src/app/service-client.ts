/** Client of the Content Review Service, and HTTP through the same proxy, from a configuration. */
import { ContentReviewClient } from '../../packages/client/src/client.ts';
import { HttpPool } from '../../packages/client/src/http/http.ts';
import { proxyChooser, proxyFromEnvironment } from '../../packages/client/src/http/proxy.ts';
import { tlsContext } from '../../packages/client/src/http/tls-files.ts';
import type { ContentReviewClientOptions } from '../../packages/client/src/service/options.ts';
import type { Config } from '../config/schema.ts';
import type { Secret } from '../config/secret.ts';

type ServiceConfig = Config['service'];

/** Longest time to connect: after it, a connection is unlikely to succeed. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Retries for about four seconds. Through a longer outage, the pipeline pauses. */
const RETRY = { maxRetries: 4, baseMs: 250, capMs: 20_000 };
/** Timeout of a tool's request, short because a person waits. */
const TOOL_TIMEOUT_MS = 5_000;
/** Timeout of a request to the schema registry or the token endpoint, which respond from memory. */
export const OUTBOUND_TIMEOUT_MS = 10_000;

/** A storage may pause within a file for longer than the service takes to respond. */
const timeouts = (timeoutMs: number) => ({
  connectTimeoutMs: Math.min(timeoutMs, CONNECT_TIMEOUT_MS),
  headersTimeoutMs: timeoutMs,
  bodyTimeoutMs: 2 * timeoutMs,
});

const currentValues = (headers: Readonly<Record<string, Secret>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, secret]) => [name, () => secret.current()]),
  );

/** @throws TypeError for problems that only appear here: a broken certificate, an unusable proxy in the environment */
export function serviceClient(
  service: ServiceConfig,
  own: Partial<ContentReviewClientOptions>,
): ContentReviewClient {
  const { timeoutMs, concurrency, transfer } = service;
  return new ContentReviewClient({
    ...timeouts(timeoutMs),
    retry: RETRY,
    maxConcurrentRequests: concurrency.requests,
    maxConcurrentTransfers: concurrency.transfers,
    allowHttp: service.allowHttp,
    transferHosts: transfer.hosts,
    allowPrivate: transfer.allowPrivate,
    uploadHeaders: currentValues(transfer.uploadHeaders),
    tls: service.tls,
    baseUrl: service.baseUrl,
    apiKey: () => service.apiKey.current(),
    importPath: service.importPath,
    ...own,
  });
}

/** Returns a client with short timeouts, for tools. @throws as `serviceClient` */
export function toolService({ service }: Pick<Config, 'service'>): ContentReviewClient {
  return serviceClient(service, {
    ...timeouts(Math.min(service.timeoutMs, TOOL_TIMEOUT_MS)),
    retry: { maxRetries: 1, baseMs: 250, capMs: 1_000 },
  });
}

interface OutboundOptions {
  /** PEM files of the only trusted authorities; if empty, Node's own authorities are trusted. */
  readonly ca: readonly string[];
  /** Maximum number of connections to one origin. */
  readonly connections: number;
}

/**
 * Returns HTTP to the schema registry and to Kafka's token endpoint, through the proxy of the environment.
 * @throws TypeError that names an unusable proxy in the environment, or file
 */
export function outboundHttp(
  { service }: Pick<Config, 'service'>,
  { ca, connections }: OutboundOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): HttpPool {
  const rules = proxyFromEnvironment(env);
  // Broken files of the service must not prevent a login to Kafka that does not use them.
  const usesTlsProxy = [rules.https, rules.http].some(
    (server) => server?.url.protocol === 'https:',
  );
  return new HttpPool(timeouts(OUTBOUND_TIMEOUT_MS), connections, {
    proxyFor: proxyChooser(rules),
    tls: tlsContext({ ca, withDefaults: false }),
    proxyTls: usesTlsProxy ? tlsContext({ ca: service.tls.ca }) : undefined,
  });
}
