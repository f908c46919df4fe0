/**
 * Memory limit of the chart for a process of a test: a memory cgroup where this machine lets one be
 * created, and otherwise the heap limit that V8 chooses in one. The peak is checked in both cases.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { uniqueName } from '../kafka/kafka.ts';

/** Limit of the chart, bytes. */
export const LIMIT_BYTES = 512 * 1024 * 1024;
/** Size of the old generation that V8 chooses for it, MiB. */
const OLD_SPACE_MIB = 256;

const CGROUPS = '/sys/fs/cgroup';
const LAUNCHER = fileURLToPath(new URL('./launch-limited.ts', import.meta.url));
const CLI = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

export class MemoryLimit {
  readonly #group: string | undefined;

  private constructor(group: string | undefined) {
    this.#group = group;
  }

  static create(): MemoryLimit {
    // Version 1 has a folder for the controller, version 2 one for all of them.
    const isFirst = existsSync(path.join(CGROUPS, 'memory', 'memory.limit_in_bytes'));
    const group = path.join(CGROUPS, isFirst ? 'memory' : '', uniqueName('content-review-test'));
    try {
      mkdirSync(group);
      const file = isFirst ? 'memory.limit_in_bytes' : 'memory.max';
      writeFileSync(path.join(group, file), String(LIMIT_BYTES));
      return new MemoryLimit(group);
    } catch {
      removed(group);
      return new MemoryLimit(undefined);
    }
  }

  /** Arguments of node for the connector's command line, with the options of the image. */
  get connector(): readonly string[] {
    const options = ['--max-semi-space-size=8'];
    return this.#group === undefined
      ? [...options, `--max-old-space-size=${OLD_SPACE_MIB}`, CLI]
      : [LAUNCHER, this.#group, ...options, CLI];
  }

  /** Removes the group, once its processes have ended. */
  remove(): void {
    if (this.#group !== undefined) removed(this.#group);
  }
}

function removed(group: string): void {
  try {
    rmdirSync(group);
  } catch {
    // It was never created, or the kernel removes it later.
  }
}
