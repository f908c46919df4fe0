/** Runs commands that call the service in this process, with a sandbox that tests control. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { runCli } from '../../../src/cli/program.ts';
import {
  type FakeService,
  type ServicePolicy,
  startFakeService,
} from '../../support/service/fake-service.ts';
import type { FaultInput } from '../../support/service/fault-script.ts';

export const KEY = 'sk-live-4cBq9Zr7Tn2w';

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line with only this environment. @param onErr called with each string written to standard error */
export async function run(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  onErr: (text: string) => void = () => {},
): Promise<Ran> {
  const out: Buffer[] = [];
  let err = '';
  const code = await runCli(args, {
    env,
    out: (text) => void out.push(Buffer.from(text)),
    err: (text) => {
      err += text;
      onErr(text);
    },
    data: async (bytes) => {
      out.push(Buffer.from(bytes));
      return true;
    },
  });
  return { code, out: Buffer.concat(out).toString(), err };
}

export class Bench {
  readonly sandbox: FakeService;
  readonly #directory: string;
  readonly config: string;

  constructor(sandbox: FakeService, directory: string) {
    this.sandbox = sandbox;
    this.#directory = directory;
    this.config = this.file(
      'service.yaml',
      `service: {baseUrl: "${sandbox.baseUrl}", apiKey: ${KEY}}\n`,
    );
  }

  path(name: string): string {
    return path.join(this.#directory, name);
  }

  file(name: string, content: string | Buffer): string {
    writeFileSync(this.path(name), content);
    return this.path(name);
  }

  /** Runs a command with the connection of the configuration file. */
  run(...args: readonly string[]): Promise<Ran> {
    return this.watch(args, () => {});
  }

  watch(args: readonly string[], onErr: (text: string) => void): Promise<Ran> {
    return run([...args, '--config', this.config], {}, onErr);
  }

  faults(...faults: readonly FaultInput[]): void {
    this.sandbox.faults.replace(faults);
  }
}

/** Starts a sandbox that ends with the test. @param directory a new directory */
export async function bench(
  t: TestContext,
  directory: string,
  policy: ServicePolicy = {},
): Promise<Bench> {
  mkdirSync(directory, { recursive: true });
  const failures: unknown[] = [];
  const sandbox = await startFakeService({
    apiKeys: [KEY],
    policy,
    onError: (error) => failures.push(error),
  });
  t.after(async () => {
    await sandbox.stop();
    if (failures.length > 0) throw failures[0];
  });
  return new Bench(sandbox, directory);
}
