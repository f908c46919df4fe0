import assert from 'node:assert/strict';
import { ConfigError } from '../../../src/config/load/problem.ts';
import { parseConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/schema.ts';

/** Smallest valid configuration, in flow style so that tests can add to it. */
export const MINIMAL = `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, source: {topic: events}}]
`;

export function parse(text: string, env: NodeJS.ProcessEnv = {}): Config {
  return parseConfig(text, env, { file: 'c.yaml', directory: '/nowhere' });
}

/** Returns the problems of a configuration as `path: message`, in the order reported. */
export function problemsOf(text: string, env: NodeJS.ProcessEnv = {}): string[] {
  return errorOf(text, env).problems.map(({ path, message }) => `${path}: ${message}`);
}

export function errorOf(text: string, env: NodeJS.ProcessEnv = {}): ConfigError {
  try {
    parse(text, env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error;
  }
  throw new assert.AssertionError({ message: 'the configuration was accepted' });
}
