/** How the pipelines of a process read values, and write them. */
import type { EventFormatName } from '../../config/options/source.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { PipelineKind } from '../../core/ports/pipeline-kind.ts';
import type { HealthReporter, Logger, Metrics } from '../../core/ports/telemetry.ts';
import type { EventFormat } from '../../events/format.ts';

export interface Formats {
  /** How values of that format are read. */
  of(name: EventFormatName): EventFormat;
  /** The kind as it publishes in the format of the pipeline's output. To be called before `start`. */
  wrap(pipeline: PipelineConfig, kind: PipelineKind, logger: Logger): PipelineKind;
  /**
   * Has what the outputs need, and sees whether the sources can be read.
   * @throws RefusedError when an output's schema is missing or incompatible, or the registry refuses it, or a source's newest
   * schema cannot be read; RegistryUnavailable when outputs need it and it does not answer for half a minute; the signal's reason
   */
  start(signal: AbortSignal): Promise<void>;
  /** Repeatable. */
  close(): Promise<void>;
}

export interface FormatParts {
  readonly metrics: Metrics;
  readonly health: HealthReporter;
  readonly logger: Logger;
}
