/** Decoding of values that begin with a schema id, with the registry's schemas. Loaded only if a registry is configured. */

import type { Logger } from '../../../src/core/ports/telemetry.ts';
import type { RecordHeaders, SourceRecord } from '../../../src/core/record.ts';
import { jsonForm } from '../../../src/events/formats/json-form.ts';
import { codecFor, type TerminalCodec } from '../../../src/events/formats/output-format.ts';
import {
  ConfluentRegistry,
  FRAME_BYTES,
  readFrame,
  SchemaCache,
  UnusableSchema,
} from '../../../src/events/registry/index.ts';
import { systemClock, systemRandom } from '../../client/src/base/clock.ts';
import { HttpPool } from '../../client/src/http/http.ts';
import { proxyFromEnvironment } from '../../client/src/http/proxy.ts';
import { tlsContext } from '../../client/src/http/tls-files.ts';
import type { RegistryOptions } from './options.ts';

const TIMEOUT_MS = 10_000;
const CONNECTIONS = 8;

export class FramedOutcomes {
  readonly #registry: ConfluentRegistry;
  readonly #schemas: SchemaCache<TerminalCodec>;

  constructor(options: RegistryOptions, logger: Logger) {
    this.#registry = registryOf(options, logger);
    this.#schemas = new SchemaCache(async (id, signal) => {
      const found = await this.#registry.byId(id, signal);
      return found && terminalCodec(() => codecFor(found.type, found.text));
    }, this.#registry.settings);
  }

  /** Loads the schemas of values; retries while the registry is unreachable. Rejects only with the signal's reason. */
  async prepare(records: readonly SourceRecord[], signal: AbortSignal): Promise<void> {
    const ids = records.flatMap(({ value, headers }) =>
      value === null ? [] : (readFrame(value, headers).id ?? []),
    );
    await this.#schemas.ensure(new Set(ids), signal);
  }

  /** @returns the JSON form, or the problem as text. @throws Error for a value that does not match its schema */
  read(value: Buffer, headers: RecordHeaders): object | string {
    const frame = readFrame(value, headers);
    if (frame.poison !== undefined) return frame.poison.message;
    const loaded = this.#schemas.get(frame.id);
    if (loaded?.schema === undefined) return loaded?.poison.message ?? 'its schema is not loaded';
    const decoded = loaded.schema.decode(value.subarray(FRAME_BYTES));
    return typeof decoded.decided_at === 'string' ? decoded : jsonForm(decoded);
  }

  close(): Promise<void> {
    return this.#registry.close();
  }
}

function registryOf(
  { url, username, password = '', token, ca = [] }: RegistryOptions,
  logger: Logger,
): ConfluentRegistry {
  const timeoutMs = TIMEOUT_MS;
  const limits = {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    bodyTimeoutMs: timeoutMs,
  };
  return new ConfluentRegistry({
    urls: [url],
    credentials:
      token !== undefined
        ? { kind: 'bearer', token: async () => token }
        : username !== undefined
          ? { kind: 'basic', user: username, password: async () => password }
          : { kind: 'none' },
    open: () =>
      new HttpPool(limits, CONNECTIONS, {
        proxyFor: proxyFromEnvironment(process.env),
        tls: tlsContext({ ca, withDefaults: false }),
      }),
    timeoutMs,
    clock: systemClock,
    random: systemRandom,
    observer: {
      request: () => undefined,
      unavailable: (reason) =>
        logger.warn({ reason }, 'the schema registry is not available: retrying'),
      available: () => logger.info({}, 'the schema registry is available again'),
    },
  });
}

function terminalCodec(read: () => TerminalCodec | undefined): TerminalCodec {
  try {
    const codec = read();
    if (codec !== undefined) return codec;
  } catch {
    // Treated like a type without a codec.
  }
  throw new UnusableSchema('it is not a schema of a terminal record');
}
