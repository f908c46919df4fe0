/** Entry of the thread of one search. */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../../config/load/problem.ts';
import { loadConfig } from '../../config/load.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { explainRecord, namedRecord } from '../../tools/inspect/explain.ts';
import { search } from '../../tools/inspect/search.ts';
import { type Tools, withPipeline } from '../tools/inspect.ts';
import type { SearchEnd, SearchTask } from './search-thread.ts';

// Each thread has its own section in a diagnostic report, and its own setting for it.
if (process.report !== undefined) process.report.excludeEnv = true;
// On Linux this is the priority of the calling thread; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

const { configFile, query } = workerData as SearchTask;

async function explained(tools: Tools): Promise<object> {
  const { record, ...request } = query;
  if (record === undefined) return search(tools, request, await tools.selector(request));
  const place = namedRecord(tools.pipeline, record);
  return { records: [await explainRecord(tools, place, { thorough: false })] };
}

async function run(): Promise<SearchEnd> {
  try {
    const config = await loadConfig(configFile, process.env);
    const { pipeline } = query;
    const options = { pipeline, service: true, notice: () => {} };
    return { answer: await withPipeline(config, options, explained) };
  } catch (error) {
    if (error instanceof InspectError || error instanceof ConfigError)
      return { problem: error.message };
    throw error;
  }
}

parentPort?.postMessage(await run());
