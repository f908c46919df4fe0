/** Client of the schema registry, created from a configuration, and messages for its errors. */
import { systemClock, systemRandom } from '../../packages/client/src/base/clock.ts';
import type { Config } from '../config/schema.ts';
import {
  ConfluentRegistry,
  RegistryRefused,
  type RegistrySettings,
  RegistryUnavailable,
  UnusableSchema,
} from '../events/registry/index.ts';
import { OUTBOUND_TIMEOUT_MS, outboundHttp } from './service-client.ts';

const CONNECTIONS = 8;

/** Returns the client, or undefined if no registry is configured. */
export function schemaRegistry(
  config: Pick<Config, 'schemaRegistry'>,
  observer?: RegistrySettings['observer'],
): ConfluentRegistry | undefined {
  const { urls, username, password, token, ca } = config.schemaRegistry;
  if (urls.length === 0) return undefined;
  return new ConfluentRegistry({
    urls,
    credentials: token
      ? { kind: 'bearer', token: () => token.current() }
      : password
        ? { kind: 'basic', user: username ?? '', password: () => password.current() }
        : { kind: 'none' },
    open: () => outboundHttp({ ca, connections: CONNECTIONS }),
    timeoutMs: OUTBOUND_TIMEOUT_MS,
    clock: systemClock,
    random: systemRandom,
    ...(observer && { observer }),
  });
}

/** Messages with cause and remedy, by the error codes of Confluent's API. */
const REFUSALS: Readonly<Record<number, (message: string) => string>> = {
  409: (message) => `the schema is incompatible (${message})`,
  42201: (message) =>
    `the registry does not support the schema (${message}): the registry may be too old, or may not support the schema type`,
  42205: (message) =>
    `the registry accepts no schema (${message}): set the mode of the registry or of the subject to READWRITE during the registration`,
};

/**
 * Returns the message for a failed registry call, or undefined if the error has another source.
 * `isRefusal` is false if the registry was not reached.
 */
export function registryProblem(error: unknown, access: 'read' | 'write') {
  if (error instanceof RegistryUnavailable) {
    const { code, message } = error;
    // A retry with the same credentials would get the same response.
    const isRefusal = code === '401' || code === '403';
    const right = access === 'read' ? 'read the subject' : 'read and write the subject';
    return { isRefusal, why: message + (isRefusal ? `: use credentials that may ${right}` : '') };
  }
  if (error instanceof UnusableSchema) return { isRefusal: true, why: error.message };
  if (!(error instanceof RegistryRefused)) return undefined;
  const { errorCode, message } = error;
  const why = REFUSALS[errorCode ?? 0]?.(message);
  return {
    isRefusal: true,
    why: why ?? `the registry rejects the request (error code ${errorCode}): ${message}`,
  };
}
