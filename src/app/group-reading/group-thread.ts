/**
 * Reading of the journal for the console, in a thread that ends with it: the thread of the
 * pipelines must not wait for it.
 */
import { Worker } from 'node:worker_threads';
import { abortable } from '../../base/abortable.ts';
import { REPORT_WITHOUT_ENVIRONMENT } from '../../base/thread-arguments.ts';
import type { GroupReport, ReadGroup } from '../../telemetry/console/group-reading.ts';

export interface GroupTask {
  readonly configFile: string;
  readonly pipeline: string;
}

export type GroupEnd = { readonly report: GroupReport } | { readonly problem: string };

/** Heaps of the thread, MiB; what it fetches is bounded by the sizes of fetches. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 };

/** @param configFile absolute path of the configuration, which the thread reads again */
export function readGroupInThread(configFile: string): ReadGroup {
  return async (pipeline, signal) => {
    const entry = import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js';
    const workerData: GroupTask = { configFile, pipeline };
    const worker = new Worker(new URL(entry, import.meta.url), {
      name: 'journal',
      execArgv: REPORT_WITHOUT_ENVIRONMENT,
      resourceLimits: LIMITS,
      workerData,
    });
    const { promise, resolve, reject } = Promise.withResolvers<GroupEnd>();
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread ended with exit code ${code}`)));
    try {
      const end = await abortable(promise, signal);
      if ('problem' in end) throw new Error(end.problem);
      return end.report;
    } finally {
      promise.catch(() => undefined);
      await worker.terminate();
    }
  };
}
