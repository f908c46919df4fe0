/** Entry of the thread of one search, or of one reading of the journal. */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../../config/load/problem.ts';
import { loadConfig } from '../../config/load.ts';
import {
  type GroupReport,
  MAX_PARTITIONS,
  MAX_SHARDS,
} from '../../telemetry/console/group-reading.ts';
import type { SearchQuery } from '../../telemetry/console/search.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { explainRecord, namedRecord } from '../../tools/inspect/explain/explain.ts';
import { search } from '../../tools/inspect/explain/search.ts';
import { journalReport } from '../../tools/inspect/journal-report.ts';
import { type Tools, withPipeline } from '../tools/inspect.ts';
import type { SearchEnd, SearchTask } from './search-thread.ts';

// Each thread has its own section in a diagnostic report, and its own setting for it.
if (process.report !== undefined) process.report.excludeEnv = true;
// On Linux this is the priority of the calling thread; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

const { configFile, task } = workerData as SearchTask;

async function explained(tools: Tools, { record, ...request }: SearchQuery): Promise<object> {
  if (record === undefined) return search(tools, request, await tools.selector(request));
  const place = namedRecord(tools.pipeline, record);
  return { records: [await explainRecord(tools, place, { thorough: false })] };
}

async function group(tools: Tools): Promise<GroupReport> {
  const { group: members, shards } = await journalReport(tools);
  return {
    members: members.members,
    state: members.state,
    shardCount: shards.length,
    shards: shards.slice(0, MAX_SHARDS).map((one) => ({
      shard: one.shard,
      instance: one.owner?.instance ?? null,
      seenMs: one.owner?.atMs ?? null,
      writtenMs: one.writtenMs,
      jobs: one.liveJobs,
      records: one.unsettled,
      lag: one.partitions.reduce((sum, { lag }) => sum + lag, 0),
      partitions: one.partitions.length,
      watermarks: one.partitions
        .slice(0, MAX_PARTITIONS)
        .map(({ partition, watermark }) => ({ partition, watermark })),
    })),
  };
}

async function run(): Promise<SearchEnd> {
  try {
    const config = await loadConfig(configFile, process.env);
    const notice = () => {};
    if (typeof task === 'string')
      return {
        answer: await withPipeline(config, { pipeline: task, service: false, notice }, group),
      };
    const options = { pipeline: task.pipeline, service: true, notice };
    return { answer: await withPipeline(config, options, (tools) => explained(tools, task)) };
  } catch (error) {
    if (error instanceof InspectError || error instanceof ConfigError)
      return { problem: error.message };
    throw error;
  }
}

parentPort?.postMessage(await run());
