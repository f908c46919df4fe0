/**
 * Content Review Service for tests: the sandbox with scripted faults. It runs in the process of the test, or in its own
 * process (main.ts), where `/sandbox/faults` replaces the script.
 */

import { jsonAnswer } from '../../../packages/sandbox/src/answers.ts';
import type { PolicyInput } from '../../../packages/sandbox/src/policy.ts';
import {
  type Sandbox,
  type SandboxOptions,
  startSandbox,
} from '../../../packages/sandbox/src/sandbox.ts';
import { readJson, route } from '../../../packages/sandbox/src/server.ts';
import { type FaultInput, FaultScript } from './fault-script.ts';

export type ServicePolicy = Omit<PolicyInput, 'faults'> & {
  readonly faults?: readonly FaultInput[];
};

export interface FakeServiceOptions extends Omit<SandboxOptions, 'policy' | 'faults' | 'routes'> {
  /** The sandbox's policy, with scripted instead of random faults. */
  readonly policy?: ServicePolicy;
}

export interface FakeService extends Sandbox {
  /** Script that can be read and changed while the service runs. A restart resets it. */
  readonly faults: FaultScript;
}

/** @throws the same errors as `startSandbox` */
export async function startFakeService(options: FakeServiceOptions): Promise<FakeService> {
  const { faults: script = [], ...policy } = options.policy ?? {};
  const faults = new FaultScript(script);
  const sandbox = await startSandbox({
    ...options,
    policy,
    faults,
    routes: [
      route('PUT', '/sandbox/faults', 'none', async (call) => {
        faults.replace((await readJson(call)) as FaultInput[]);
        return jsonAnswer(200, { faults: faults.entries() });
      }),
    ],
  });
  return { ...sandbox, faults };
}
