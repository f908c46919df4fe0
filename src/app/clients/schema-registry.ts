/** Client of the schema registry, from a configuration, and its refusals in words. */
import { systemClock, systemRandom } from '../../base/system-clock.ts';
import type { Config } from '../../config/schema.ts';
import {
  ConfluentRegistry,
  RegistryRefused,
  type RegistrySettings,
  RegistryUnavailable,
  UnusableSchema,
} from '../../events/registry/index.ts';
import { outboundHttp } from './service.ts';

const CONNECTIONS = 8;

/** Returns undefined when no registry is configured. */
export function schemaRegistry(
  config: Pick<Config, 'schemaRegistry' | 'service'>,
  observer?: RegistrySettings['observer'],
): ConfluentRegistry | undefined {
  const { urls, username, password, token, ca, timeoutMs } = config.schemaRegistry;
  if (urls.length === 0) return undefined;
  return new ConfluentRegistry({
    urls,
    credentials: token
      ? { kind: 'bearer', token: () => token.current() }
      : password
        ? { kind: 'basic', user: username ?? '', password: () => password.current() }
        : { kind: 'none' },
    open: () => outboundHttp(config, { ca, timeoutMs, connections: CONNECTIONS }),
    timeoutMs,
    clock: systemClock,
    random: systemRandom,
    ...(observer && { observer }),
  });
}

/** Reasons and remedies by the error codes of Confluent's API. */
const REFUSALS: Readonly<Record<number, (message: string) => string>> = {
  409: (message) => `the schema is incompatible (${message})`,
  42201: (message) =>
    `the registry does not support the schema (${message}): it may be too old, or lack its type`,
  42205: (message) =>
    `the registry accepts no schema (${message}): set its mode, or that of the subject, to READWRITE during the registration`,
};

/** Returns the reason of a refusal; undefined for another error, also when the registry was not reached. */
export function registryRefusal(error: unknown, access: 'read' | 'write'): string | undefined {
  // The same credentials will get the same response again.
  if (error instanceof RegistryUnavailable && (error.code === '401' || error.code === '403')) {
    const right = access === 'read' ? 'read the subject' : 'read and write the subject';
    return `${error.message}: use credentials that may ${right}`;
  }
  if (error instanceof UnusableSchema) return error.message;
  if (!(error instanceof RegistryRefused)) return undefined;
  const { errorCode, message } = error;
  return (
    REFUSALS[errorCode ?? 0]?.(message) ??
    `the registry refuses (error code ${errorCode}): ${message}`
  );
}
