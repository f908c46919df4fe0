import { nearest } from '../../packages/client/src/base/nearest.ts';
import { err, ok, type Result } from '../../packages/client/src/base/result.ts';
import type { Config, PipelineConfig } from './schema.ts';

/** Returns the pipeline of that name, which may be omitted if there is only one; otherwise the error for the user. */
export function choosePipeline(
  { pipelines }: Config,
  name: string | undefined,
): Result<PipelineConfig> {
  const [first, ...more] = pipelines;
  const chosen =
    name === undefined && more.length === 0
      ? first
      : pipelines.find((pipeline) => pipeline.name === name);
  if (chosen !== undefined) return ok(chosen);
  const names = pipelines.map((pipeline) => pipeline.name);
  if (name === undefined)
    return err(
      `the configuration has several pipelines: choose one with --pipeline (${names.join(', ')})`,
    );
  const close = nearest(name, names);
  const hint = close === undefined ? `it has ${names.join(', ')}` : `did you mean ${close}?`;
  return err(`the configuration has no pipeline ${JSON.stringify(name)}: ${hint}`);
}
