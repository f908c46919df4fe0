import { nearest } from '../base/nearest.ts';
import type { Config, PipelineConfig } from './schema.ts';

/** The pipeline that a command is to look at: by name, which may be left out when there is one alone; otherwise what to say to the user. */
export function choosePipeline(
  { pipelines }: Config,
  name: string | undefined,
): PipelineConfig | string {
  const names = pipelines.map((pipeline) => pipeline.name);
  const [first, ...more] = pipelines;
  if (name === undefined && first !== undefined && more.length === 0) return first;
  const chosen = pipelines.find((pipeline) => pipeline.name === name);
  if (chosen !== undefined) return chosen;
  if (name === undefined)
    return `the configuration has several pipelines: choose one with --pipeline (${names.join(', ')})`;
  const meant = nearest(name, names);
  const hint = meant === undefined ? `it has ${names.join(', ')}` : `did you mean ${meant}?`;
  return `the configuration has no pipeline ${JSON.stringify(name)}: ${hint}`;
}
