/** Client of the Content Review Service, and HTTP by the same proxy, from a configuration. */
import { ContentReviewClient } from '../../packages/client/src/client.ts';
import { HttpPool } from '../../packages/client/src/http/http.ts';
import { proxyChooser, proxyFromEnvironment } from '../../packages/client/src/http/proxy.ts';
import { tlsContext } from '../../packages/client/src/http/tls-files.ts';
import type { ContentReviewClientOptions } from '../../packages/client/src/service/options.ts';
import type { Config } from '../config/schema.ts';
import type { Secret } from '../config/secret.ts';
import type { HttpExchange } from '../core/ports/http.ts';

type ServiceConfig = Config['service'];

/** A connection that takes longer will not come. */
const CONNECT_TIMEOUT_MS = 5_000;
/** Some four seconds of tries; a longer outage is met by pauses of the pipeline. */
const RETRY = { maxRetries: 4, baseMs: 250, capMs: 20_000 };
/** Timeout of a tool's request: a person waits for it. */
const TOOL_TIMEOUT_MS = 5_000;
/** Timeout of a request to the schema registry or the token endpoint, which answer from memory. */
export const OUTBOUND_TIMEOUT_MS = 10_000;

/** A storage may pause within a file for longer than an answer of the service takes. */
const timeouts = (timeoutMs: number) => ({
  connectTimeoutMs: Math.min(timeoutMs, CONNECT_TIMEOUT_MS),
  headersTimeoutMs: timeoutMs,
  bodyTimeoutMs: 2 * timeoutMs,
});

const currentValues = (headers: Readonly<Record<string, Secret>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, secret]) => [name, () => secret.current()]),
  );

/** @throws TypeError for what only shows here: a broken certificate, an unusable proxy in the environment */
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

/** Client for tools, with short timeouts. @throws as `serviceClient` */
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
 * HTTP to the schema registry and to the token endpoint for Kafka, by the proxy of the environment.
 * @throws TypeError for an unusable proxy in the environment, or file; it states which
 */
export function outboundHttp(
  { service }: Pick<Config, 'service'>,
  { ca, connections }: OutboundOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): HttpExchange {
  const rules = proxyFromEnvironment(env);
  // Broken files of the service must not stop a login to Kafka unless it needs them.
  const usesTlsProxy = [rules.https, rules.http].some(
    (server) => server?.url.protocol === 'https:',
  );
  return new HttpPool(timeouts(OUTBOUND_TIMEOUT_MS), connections, {
    proxyFor: proxyChooser(rules),
    tls: tlsContext({ ca, withDefaults: false }),
    proxyTls: usesTlsProxy ? tlsContext({ ca: service.tls.ca }) : undefined,
  });
}
