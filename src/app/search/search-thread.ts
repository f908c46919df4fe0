/**
 * Search of the console, and its reading of the journal, in a thread of its own: an expression may
 * take a fifth of a second for each record, and the thread of the pipelines must not wait for it.
 * The thread ends with its task.
 */
import { Worker } from 'node:worker_threads';
import { abortable } from '../../base/abortable.ts';
import type { GroupReport, ReadGroup } from '../../telemetry/console/group-reading.ts';
import { type RunSearch, SearchFailed, type SearchQuery } from '../../telemetry/console/search.ts';

export interface SearchTask {
  readonly configFile: string;
  /** The name of a pipeline: reads its journal. */
  readonly task: SearchQuery | string;
}

export type SearchEnd = { readonly answer: object } | { readonly problem: string };

/** Heaps of the thread, MiB; what it fetches is bounded by the sizes of fetches. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

/** @param configFile absolute path of the configuration, which the thread reads again */
export function searchInThread(configFile: string): RunSearch {
  return (query, signal) => inThread({ configFile, task: query }, signal);
}

/** @param configFile as of `searchInThread` */
export function readGroupInThread(configFile: string): ReadGroup {
  return async (pipeline, signal) =>
    (await inThread({ configFile, task: pipeline }, signal)) as GroupReport;
}

async function inThread(workerData: SearchTask, signal: AbortSignal): Promise<object> {
  const entry = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
  const worker = new Worker(new URL(entry, import.meta.url), {
    name: 'search',
    // Modules preloaded into the process are not meant for this thread.
    execArgv: [],
    resourceLimits: LIMITS,
    workerData,
  });
  const { promise, resolve, reject } = Promise.withResolvers<SearchEnd>();
  worker.once('message', resolve);
  worker.once('error', (error: Error & { code?: string }) =>
    reject(
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? new SearchFailed('it takes too much memory: run the command instead')
        : error,
    ),
  );
  worker.once('exit', (code) => reject(new Error(`the thread ended with exit code ${code}`)));
  try {
    const end = await abortable(promise, signal);
    if ('problem' in end) throw new SearchFailed(end.problem);
    return end.answer;
  } finally {
    promise.catch(() => undefined);
    await worker.terminate();
  }
}
