/** Entry of the thread of one reading of the journal. */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../../config/load/problem.ts';
import { loadConfig } from '../../config/load.ts';
import {
  type GroupReport,
  MAX_PARTITIONS,
  MAX_SHARDS,
} from '../../telemetry/console/group-reading.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { journalReport } from '../../tools/inspect/journal-report.ts';
import { type Tools, withPipeline } from '../tools/inspect.ts';
import type { GroupEnd, GroupTask } from './group-thread.ts';

// On Linux this is the priority of the calling thread; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_LOW);

const { configFile, pipeline } = workerData as GroupTask;

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

async function read(): Promise<GroupEnd> {
  try {
    const config = await loadConfig(configFile, process.env);
    const options = { pipeline, service: false, notice: () => {} };
    return { report: await withPipeline(config, options, group) };
  } catch (error) {
    if (error instanceof InspectError || error instanceof ConfigError)
      return { problem: error.message };
    throw error;
  }
}

parentPort?.postMessage(await read());
