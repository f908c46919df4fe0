/** Plays histories for a range of seeds on several threads. */
import { Worker } from 'node:worker_threads';
import type { SimulatedKind } from '../kinds.ts';
import { addTo, type Coverage } from './coverage.ts';

/** Number of seeds in one message to a thread. */
const SLICE = 20;

export interface Found {
  readonly seed: number;
  readonly message: string;
}

/** Result of one thread for one range of seeds. */
export interface SliceResult {
  readonly histories: number;
  readonly records: number;
  readonly settledMs: number;
  readonly faults: Coverage;
  readonly coverage: Coverage;
  readonly found: readonly Found[];
}

export interface Slice {
  readonly from: number;
  readonly seeds: number;
  readonly weaken: string | undefined;
  readonly kind: SimulatedKind | undefined;
}

export interface Tally {
  histories: number;
  records: number;
  /** Longest time from the last fault until everything was settled, virtual ms. */
  settledMs: number;
  readonly faults: Record<string, number>;
  readonly coverage: Record<string, number>;
  /** Violations, sorted by seed. */
  readonly found: Found[];
}

export interface PoolOptions {
  readonly from: number;
  readonly seeds: number;
  readonly jobs: number;
  /** Name of a rule in `WEAKENED` to remove. */
  readonly weaken?: string | undefined;
  /** Kind of all histories. Default: each seed draws one. */
  readonly kind?: SimulatedKind | undefined;
  /** Number of violations that ends the search early. */
  readonly maxFound?: number;
  readonly onProgress?: (tally: Tally) => void;
}

export async function playAll(options: PoolOptions): Promise<Tally> {
  const { from, seeds, jobs, weaken, kind, maxFound = Number.POSITIVE_INFINITY } = options;
  const tally: Tally = {
    histories: 0,
    records: 0,
    settledMs: 0,
    faults: {},
    coverage: {},
    found: [],
  };
  let next = from;
  const oneThread = async () => {
    // Omits this process's arguments, because the file guard is only for test files, not for their threads.
    const worker = new Worker(new URL('./pool-worker.ts', import.meta.url), { execArgv: [] });
    try {
      while (next < from + seeds && tally.found.length < maxFound) {
        const slice: Slice = {
          from: next,
          seeds: Math.min(SLICE, from + seeds - next),
          weaken,
          kind,
        };
        next += slice.seeds;
        add(tally, await ask(worker, slice));
        options.onProgress?.(tally);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, Math.ceil(seeds / SLICE)) }, oneThread));
  tally.found.sort((a, b) => a.seed - b.seed);
  return tally;
}

function ask(worker: Worker, slice: Slice): Promise<SliceResult> {
  const { promise, resolve, reject } = Promise.withResolvers<SliceResult>();
  const ended = (code: number) =>
    reject(new Error(`a thread ended with code ${code} while playing seeds from ${slice.from}`));
  worker.once('message', resolve);
  worker.once('error', reject);
  worker.once('exit', ended);
  worker.postMessage(slice);
  return promise.finally(() => {
    worker.off('message', resolve);
    worker.off('error', reject);
    worker.off('exit', ended);
  });
}

function add(tally: Tally, result: SliceResult): void {
  tally.histories += result.histories;
  tally.records += result.records;
  tally.settledMs = Math.max(tally.settledMs, result.settledMs);
  addTo(tally.faults, result.faults);
  addTo(tally.coverage, result.coverage);
  tally.found.push(...result.found);
}
