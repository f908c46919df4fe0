/** Formats of the pipelines' outputs. Their schemas are looked up once, at the start. */
import { retryWaitMs } from '../../packages/client/src/base/backoff.ts';
import type { Clock, Random } from '../../packages/client/src/base/clock.ts';
import type { Config, PipelineConfig } from '../config/schema.ts';
import type { PipelineKind } from '../core/ports/pipeline-kind.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import {
  contractOf,
  RegisteredFormat,
  type SchemaState,
  schemaState,
} from '../events/formats/output-format.ts';
import { RegistryUnavailable, type SchemaRegistry } from '../events/registry/index.ts';
import { RefusedError } from '../pipeline/context/errors.ts';
import { InspectError } from '../tools/inspect/context.ts';
import { registryProblem, schemaRegistry } from './schema-registry.ts';

/** Maximum wait for the registry at the start. The wait for Kafka has the same maximum. */
const PATIENCE_MS = 30_000;
const BACKOFF = { baseMs: 250, capMs: 5_000 };
/** Maximum time until all replicas of the registry return a schema that `schemas register` has just registered. */
const LAG_MS = 5_000;
const LOOK_AGAIN_MS = 500;

/**
 * Returns the format of a pipeline's output, or undefined for JSON, which kinds write themselves.
 * @throws Error if the installation lacks the contracts
 */
export function outputFormatOf({
  kind,
  output,
}: Pick<PipelineConfig, 'kind' | 'output'>): RegisteredFormat | undefined {
  const { format, subject } = output;
  return format === 'json' ? undefined : new RegisteredFormat(contractOf(kind), format, subject);
}

interface StartParts {
  readonly registry: SchemaRegistry;
  /** Addresses of the registry, for messages. */
  readonly urls: readonly string[];
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Output formats of the pipelines of a process. */
export class OutputFormats {
  readonly #registered: { readonly pipeline: string; readonly format: RegisteredFormat }[] = [];

  /** Returns the kind with an encoder for its output. For JSON, returns the kind unchanged. */
  wrap(pipeline: PipelineConfig, kind: PipelineKind): PipelineKind {
    const format = outputFormatOf(pipeline);
    if (format === undefined) return kind;
    this.#registered.push({ pipeline: pipeline.name, format });
    return { ...kind, encode: (record) => format.encode(record) };
  }

  /**
   * Looks up the schema of each output. Registers nothing, because a restart must not change what
   * consumers have to read (ADR 0017).
   * @throws RefusedError if a schema is missing or incompatible, or the registry rejects the
   * request; RegistryUnavailable if the registry does not respond for half a minute; the signal's
   * reason
   */
  async prepare(parts: StartParts): Promise<void> {
    const untilMs = parts.clock.monotonic() + PATIENCE_MS;
    for (const { pipeline, format } of this.#registered) {
      const state = await this.#state(pipeline, format, untilMs, parts);
      if (state.state !== 'registered')
        throw new RefusedError(
          `pipeline ${pipeline}: output schema ${outputProblem(state, format).join(': ')}`,
        );
      format.writeWith(state.id);
      const { subject, codec } = format;
      const { version, id, latest } = state;
      parts.logger.info(
        { pipeline, subject, version, latest, id, schema: codec.file },
        'output schema found',
      );
    }
  }

  /** Waits while the registry is unavailable, and briefly for a missing schema that a replica may not have yet. */
  async #state(
    pipeline: string,
    { subject, codec }: RegisteredFormat,
    untilMs: number,
    { registry, urls, clock, random, logger, signal }: StartParts,
  ): Promise<SchemaState> {
    let lagUntilMs: number | undefined;
    for (let failures = 0; ; ) {
      let waitMs = LOOK_AGAIN_MS;
      try {
        const state = await schemaState(registry, subject, codec.schema, signal);
        lagUntilMs ??= clock.monotonic() + LAG_MS;
        if (state.state === 'registered' || clock.monotonic() >= lagUntilMs) return state;
        logger.debug({ pipeline, subject, state: state.state }, 'output schema not found yet');
      } catch (error) {
        signal.throwIfAborted();
        const problem = registryProblem(error, 'read');
        if (problem?.isRefusal)
          throw new RefusedError(`pipeline ${pipeline}, subject ${subject}: ${problem.why}`, {
            cause: error,
          });
        if (!(error instanceof RegistryUnavailable)) throw error;
        const { code, message } = error;
        waitMs = retryWaitMs(failures++, BACKOFF, random);
        if (clock.monotonic() + waitMs >= untilMs)
          throw new RegistryUnavailable(
            code,
            `the schema registry (${urls.join(', ')}): ${message}`,
          );
        logger.warn({ pipeline, subject, urls, error: message }, 'waiting for the schema registry');
      }
      await clock.sleep(waitMs, signal);
    }
  }
}

/** Returns the reason why an output's schema is not registered, and the remedy. */
export function outputProblem(
  state: Exclude<SchemaState, { state: 'registered' }>,
  { subject, codec }: RegisteredFormat,
): readonly [problem: string, remedy: string] {
  const file = `contracts/${codec.file}`;
  if (state.state !== 'incompatible') {
    const has =
      state.state === 'new' ? 'has no schema' : `has ${state.latest} as its latest version`;
    return [
      `${file} is not registered under subject ${subject}, which ${has}`,
      'run "content-review-connector schemas register"',
    ];
  }
  const why = state.messages.length === 0 ? '' : ` (${state.messages.join('; ').slice(0, 1_000)})`;
  return [
    `${file} is incompatible with the versions of subject ${subject}, the latest of which is ${state.latest}${why}`,
    'use another subject (output.subject) or topic, or correct the subject in the registry',
  ];
}

/** State of an output's schema in the registry. Schemas are registered at deploy time, never by a running connector. */
export interface SchemaReport {
  readonly pipeline: string;
  readonly format: string;
  readonly subject: string;
  /** Path of the schema's file. */
  readonly file: string;
  /** `registered` also applies if this command has just registered the schema. */
  readonly state: SchemaState['state'];
  readonly registeredNow: boolean;
  /** null if the schema is not registered, or the registry does not return it yet. */
  readonly version: number | null;
  readonly id: number | null;
  /** Latest version of the subject. null if the subject has no versions. */
  readonly latest: number | null;
  /** Reasons for incompatibility, in the registry's words. */
  readonly messages: readonly string[];
}

/**
 * Returns a report for each output that has a schema in the registry, in the order of the
 * configuration.
 * @param register true to register missing schemas that are compatible
 * @throws InspectError if the registry cannot be reached or rejects the request
 */
export async function schemaReports(
  config: Config,
  register: boolean,
  signal: AbortSignal,
): Promise<SchemaReport[]> {
  const registry = schemaRegistry(config);
  if (registry === undefined) return [];
  try {
    const reports: SchemaReport[] = [];
    for (const pipeline of config.pipelines) {
      const format = outputFormatOf(pipeline);
      if (format === undefined) continue;
      const { urls } = config.schemaRegistry;
      reports.push(await schemaReport(pipeline.name, format, registry, register, urls, signal));
    }
    return reports;
  } finally {
    await registry.close();
  }
}

/** @throws InspectError if the registry cannot be reached or rejects the request */
async function schemaReport(
  pipeline: string,
  format: RegisteredFormat,
  registry: SchemaRegistry,
  register: boolean,
  urls: readonly string[],
  signal: AbortSignal,
): Promise<SchemaReport> {
  const { subject, codec, name } = format;
  const about = { pipeline, format: name, subject, file: `contracts/${codec.file}` };
  try {
    const before = await schemaState(registry, subject, codec.schema, signal);
    if (!register || before.state === 'registered' || before.state === 'incompatible')
      return { ...about, ...known(before), registeredNow: false };
    const id = await registry.register(subject, codec.schema, signal);
    const after = await schemaState(registry, subject, codec.schema, signal);
    // A replica of the registry may not have the schema yet.
    return { ...about, ...known(after), state: 'registered', registeredNow: true, id };
  } catch (error) {
    const problem = registryProblem(error, register ? 'write' : 'read');
    if (problem === undefined) throw error;
    const failure = problem.isRefusal ? 'refused' : 'unreachable';
    const why = problem.why + (problem.isRefusal ? '' : `; addresses tried: ${urls.join(', ')}`);
    throw new InspectError(failure, `pipeline ${pipeline}, subject ${subject}: ${why}`, {
      cause: error,
    });
  }
}

const known = (state: SchemaState) => ({
  version: null,
  id: null,
  latest: null,
  messages: [],
  ...state,
});
