/** Whether the memory that this machine gives is enough for what is configured (docs/operations.md, Memory). */
import { type Check, type Finding, ok, together, warning } from './check.ts';
import type { MemoryFacts } from './parts.ts';

const MIB = 1024 * 1024;
const BASE_BYTES = 200 * MIB;
const PER_BUDGET = 1.5;
/** MiB, as the package's own command sets it. */
const SEMI_SPACE_MIB = 4;

export function memoryCheck(memory: MemoryFacts): Check {
  return {
    name: 'process.memory',
    about: 'memory of this machine',
    run: async () => memoryFinding(memory),
  };
}

function memoryFinding({
  budgetBytes,
  containerBytes,
  arenas,
  semiSpaceMiB,
}: MemoryFacts): Finding {
  const neededBytes = BASE_BYTES + PER_BUDGET * budgetBytes;
  if (containerBytes === undefined)
    return ok(
      `no limit here; with memory.budget ${mib(budgetBytes)} a container needs ${mib(neededBytes)} and some reserve`,
    );
  const findings: Finding[] = [];
  if (containerBytes < neededBytes) {
    const fits = Math.floor((containerBytes - BASE_BYTES) / PER_BUDGET / MIB);
    findings.push(
      warning(
        `the container has ${mib(containerBytes)}, but memory.budget ${mib(budgetBytes)} takes up to ${mib(neededBytes)}, more with large contents`,
        fits < 1
          ? `give it ${mib(neededBytes)}`
          : `give it ${mib(neededBytes)}, or set memory.budget to ${fits}MiB`,
      ),
    );
  }
  if (arenas === undefined)
    findings.push(
      warning(
        'MALLOC_ARENA_MAX is not set: glibc may keep a heap for each thread',
        'set MALLOC_ARENA_MAX=1',
      ),
    );
  if (semiSpaceMiB === undefined || semiSpaceMiB > SEMI_SPACE_MIB)
    findings.push(
      warning(
        `node runs ${semiSpaceMiB === undefined ? 'without --max-semi-space-size' : `with --max-semi-space-size=${semiSpaceMiB}`}`,
        `start it with node --max-semi-space-size=${SEMI_SPACE_MIB}`,
      ),
    );
  return together(
    `the container has ${mib(containerBytes)}, memory.budget ${mib(budgetBytes)} takes up to ${mib(neededBytes)}`,
    findings,
  );
}

const mib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;
