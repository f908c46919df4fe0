/** Client of the Content Review Service, and HTTP connections through the same proxy, created from a configuration. */
import { ContentReviewClient } from '../../packages/client/src/client.ts';
import { HttpPool } from '../../packages/client/src/http/http.ts';
import { proxyFromEnvironment } from '../../packages/client/src/http/proxy.ts';
import { tlsContext } from '../../packages/client/src/http/tls-files.ts';
import type { ContentReviewClientOptions } from '../../packages/client/src/service/options.ts';
import type { Secret } from '../config/secret.ts';
import type { ServiceConfig } from '../config/services.ts';

/** Maximum time to connect. After that, a connection is unlikely to succeed. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Retries for about four seconds. During a longer outage the pipeline pauses. */
const RETRY = { maxRetries: 4, baseMs: 250, capMs: 20_000 };
/** Timeout of a tool's request. Short, because a person waits for it. */
const TOOL_TIMEOUT_MS = 5_000;
/** Timeout of a request to the schema registry or token endpoint. Both respond from memory. */
export const OUTBOUND_TIMEOUT_MS = 10_000;

/** The body may take longer than the headers, because storage may pause within a file. */
const timeouts = (timeoutMs: number) => ({
  connectTimeoutMs: Math.min(timeoutMs, CONNECT_TIMEOUT_MS),
  headersTimeoutMs: timeoutMs,
  bodyTimeoutMs: 2 * timeoutMs,
});

const currentValues = (headers: Readonly<Record<string, Secret>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, secret]) => [name, () => secret.current()]),
  );

/**
 * @throws TypeError for problems that the configuration's checks cannot find: a broken certificate
 * or proxy variable
 */
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

/** Returns a client with short timeouts, for tools. @throws the errors of `serviceClient` */
export function toolService(service: ServiceConfig): ContentReviewClient {
  return serviceClient(service, {
    ...timeouts(Math.min(service.timeoutMs, TOOL_TIMEOUT_MS)),
    retry: { maxRetries: 1, baseMs: 250, capMs: 1_000 },
  });
}

interface OutboundOptions {
  /** PEM files of the only trusted authorities. If empty, Node's built-in authorities are trusted. */
  readonly ca: readonly string[];
  /** Maximum number of connections to one origin. */
  readonly connections: number;
}

/**
 * Returns HTTP connections to the schema registry or to Kafka's token endpoint, through the
 * environment's proxy.
 * @throws TypeError that names the unusable proxy or file
 */
export function outboundHttp(
  { ca, connections }: OutboundOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): HttpPool {
  return new HttpPool(timeouts(OUTBOUND_TIMEOUT_MS), connections, {
    proxyFor: proxyFromEnvironment(env),
    tls: tlsContext({ ca, withDefaults: false }),
  });
}
