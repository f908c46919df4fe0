/** The formats of the pipelines' outputs. What they need of the schema registry is had at the start, and never asked for again. */

import { retryWaitMs } from '../../base/backoff.ts';
import type { Clock, Random } from '../../base/clock.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import {
  cloudEventsOutput,
  contractOf,
  type OutputFormat,
  RegisteredFormat,
  type SchemaState,
  schemaState,
  withOutputFormat,
} from '../../events/formats/output/index.ts';
import { RegistryUnavailable, type SchemaRegistry } from '../../events/registry/index.ts';
import { RefusedError } from '../../pipeline/context/errors.ts';
import { registryRefusal } from '../clients/registry-refusal.ts';

/** As Kafka is given at the start: then whoever started the process is told, and starts it again. */
const PATIENCE_MS = 30_000;
const BACKOFF = { baseMs: 250, capMs: 5_000 };
/** A replica of the registry may hear of a schema a moment after `schemas register` did. */
const LAG_MS = 5_000;
const LOOK_AGAIN_MS = 500;

/** undefined: JSON, as the kinds render it. @throws Error when the installation lacks the contracts */
export function outputFormatOf({
  kind,
  output,
}: Pick<PipelineConfig, 'kind' | 'output'>): OutputFormat | undefined {
  const { format, topic, subject, cloudEvents } = output;
  const contract = contractOf(kind);
  switch (format) {
    case 'json':
      return undefined;
    case 'cloudevents':
      return cloudEventsOutput({ contract, ...cloudEvents });
    default:
      return new RegisteredFormat({ contract, format, topic, subject });
  }
}

export interface StartParts {
  readonly registry: SchemaRegistry;
  /** Where it is, for people. */
  readonly urls: readonly string[];
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What the pipelines of a process write with. */
export class OutputFormats {
  readonly #registered: { readonly pipeline: string; readonly format: RegisteredFormat }[] = [];

  /** The kind as it publishes: with format json the same one. */
  wrap(pipeline: PipelineConfig, kind: PipelineKind, logger: Logger): PipelineKind {
    const format = outputFormatOf(pipeline);
    if (format === undefined) return kind;
    if (format instanceof RegisteredFormat)
      this.#registered.push({ pipeline: pipeline.name, format });
    return withOutputFormat(kind, format, (event, error) =>
      logger.error(
        // Its message may quote the record (I6).
        { event, format: format.name, error: error instanceof Error ? error.name : typeof error },
        'an outcome could not be encoded: published with status ERROR and code encoding_failed',
      ),
    );
  }

  /**
   * Looks up the schema of each output. Nothing is registered: that would let whoever restarts a process change what its
   * consumers have to read (ADR 0017).
   * @throws RefusedError when one is missing or incompatible, or the registry refuses; RegistryUnavailable when it does not
   * answer for half a minute; the signal's reason
   */
  async prepare(parts: StartParts): Promise<void> {
    const untilMs = parts.clock.monotonic() + PATIENCE_MS;
    for (const { pipeline, format } of this.#registered) {
      const state = await this.#settledState(pipeline, format, untilMs, parts);
      if (state.state !== 'registered')
        throw new RefusedError(`pipeline ${pipeline}: ${objectionTo(state, format)}`);
      format.writeWith(state.id);
      const { subject, codec } = format;
      const { version, id, latest } = state;
      parts.logger.info(
        { pipeline, subject, version, latest, id, schema: codec.file },
        'schema of the output',
      );
    }
  }

  /** Asked again while the schema is not there, for as long as replicas of a registry lag behind each other. */
  async #settledState(
    pipeline: string,
    format: RegisteredFormat,
    untilMs: number,
    parts: StartParts,
  ): Promise<SchemaState> {
    const { clock, logger, signal } = parts;
    const { subject } = format;
    let settledMs: number | undefined;
    for (;;) {
      const state = await this.#state(pipeline, format, untilMs, parts);
      settledMs ??= clock.monotonic() + LAG_MS;
      if (state.state === 'registered' || clock.monotonic() >= settledMs) return state;
      logger.debug(
        { pipeline, subject, state: state.state },
        'the schema of the output is not there yet: looking again',
      );
      await clock.sleep(LOOK_AGAIN_MS, signal);
    }
  }

  async #state(
    pipeline: string,
    { subject, codec }: RegisteredFormat,
    untilMs: number,
    parts: StartParts,
  ): Promise<SchemaState> {
    const { registry, urls, clock, random, logger, signal } = parts;
    for (let attempt = 0; ; attempt++) {
      try {
        return await schemaState(registry, subject, codec.schema, signal);
      } catch (error) {
        signal.throwIfAborted();
        const refusal = registryRefusal(error, 'read');
        if (refusal !== undefined)
          throw new RefusedError(`pipeline ${pipeline}, subject ${subject}: ${refusal}`, {
            cause: error,
          });
        if (!(error instanceof RegistryUnavailable)) throw error;
        const waitMs = retryWaitMs(attempt, BACKOFF, random);
        if (clock.monotonic() + waitMs >= untilMs) {
          throw new RegistryUnavailable(
            error.code,
            `the schema registry (${urls.join(', ')}): ${error.message}`,
          );
        }
        logger.warn(
          { pipeline, subject, urls, error: error.message },
          'waiting for the schema registry',
        );
        await clock.sleep(waitMs, signal);
      }
    }
  }
}

function objectionTo(
  state: Exclude<SchemaState, { state: 'registered' }>,
  { subject, codec }: RegisteredFormat,
): string {
  const what = `the schema of its output (contracts/${codec.file})`;
  if (state.state !== 'incompatible') {
    const has =
      state.state === 'new' ? 'which has no schema' : `whose latest version is ${state.latest}`;
    return `${what} is not registered under subject ${subject}, ${has}: run "content-review-connector schemas register" first`;
  }
  const why = state.messages.length === 0 ? '' : ` (${state.messages.join('; ').slice(0, 1_000)})`;
  return `${what} is incompatible with the versions of subject ${subject}, the latest of which is ${state.latest}${why}: have this connector write under another subject (output.subject) or to another topic, or put the subject right in the registry`;
}
