import type { Config } from '../config/schema.ts';

/** Runs every pipeline until a signal comes. Resolves to the exit code. */
export async function runConnector(config: Config): Promise<number> {
  throw new Error(`not built yet: ${config.pipelines.length} pipelines`);
}
