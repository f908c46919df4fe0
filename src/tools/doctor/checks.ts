/** All checks of a configuration, in the order in which they run. */

import type { DoctorParts, PipelineParts } from './check.ts';
import { type Diagnosis, type DoctorCheck, failed, ok, together, warning } from './check.ts';
import { groupChecks, journalChecks } from './journal-checks.ts';
import { kafkaChecks } from './kafka-checks.ts';
import { roundTripCheck } from './round-trip.ts';
import { sampleCheck } from './sample-check.ts';
import { serviceChecks } from './service-checks.ts';
import { topicChecks } from './topic-checks.ts';

export function checksOf(parts: DoctorParts): DoctorCheck[] {
  return [
    memoryCheck(parts.memory),
    ...kafkaChecks(parts.kafka),
    ...serviceChecks(parts),
    certificateCheck(parts),
    ...parts.pipelines.flatMap((pipeline) =>
      pipelineChecks(parts, pipeline).map((check) => ({ ...check, pipeline: pipeline.name })),
    ),
  ];
}

function pipelineChecks(parts: DoctorParts, pipeline: PipelineParts): DoctorCheck[] {
  const sampled: { type?: string } = {};
  return [
    ...topicChecks(pipeline, parts.kafka),
    ...journalChecks(pipeline, parts.kafka),
    ...groupChecks(pipeline, parts),
    ...pipeline.registryChecks,
    sampleCheck(pipeline, sampled),
    ...(parts.roundTrip === undefined
      ? []
      : [roundTripCheck(pipeline, parts.clock, parts.roundTrip, sampled)]),
  ];
}

const MIB = 1024 * 1024;
/** Need of the process without and with its memory budget: docs/operating.md, Memory. */
const BASE_BYTES = 200 * MIB;
const PER_BUDGET = 1.5;

function memoryCheck({ budgetBytes, containerBytes }: DoctorParts['memory']): DoctorCheck {
  const mib = (bytes: number) => `${Math.ceil(bytes / MIB)} MiB`;
  const neededBytes = BASE_BYTES + PER_BUDGET * budgetBytes;
  const needed = `memory.budget ${mib(budgetBytes)} needs up to ${mib(neededBytes)}`;
  return {
    name: 'process.memory',
    about: 'memory of this machine',
    async run() {
      if (containerBytes === undefined) return ok(`no container limit; ${needed}`);
      const found = `the container limit is ${mib(containerBytes)}, ${needed}`;
      if (containerBytes >= neededBytes) return ok(found);
      const fits = Math.floor((containerBytes - BASE_BYTES) / PER_BUDGET / MIB);
      const lower = fits < 1 ? '' : `, or set memory.budget to ${fits}MiB`;
      return warning(found, `raise the limit to ${mib(neededBytes)}${lower}`);
    },
  };
}

const DAY_MS = 24 * 3_600_000;
/** The connector itself warns as early (src/kafka/security/expiry.ts). */
const SOON_MS = 14 * DAY_MS;

function certificateCheck({ certificates, clock }: DoctorParts): DoctorCheck {
  return {
    name: 'certificates',
    about: 'TLS certificates',
    async run() {
      const all = [...(await certificates())].sort((a, b) => a.endsMs - b.endsMs);
      const [first] = all;
      if (first === undefined) return ok('none in use');
      const nowMs = clock.now();
      const problems = all.map(({ whose, endsMs }): Diagnosis | false => {
        if (endsMs <= nowMs) return failed(`${whose} expired on ${day(endsMs)}`, 'replace it');
        if (endsMs > nowMs + SOON_MS) return false;
        const days = Math.ceil((endsMs - nowMs) / DAY_MS);
        return warning(`${whose} expires in ${days} days`, 'replace it');
      });
      return together(
        `the first of ${all.length} to expire is ${first.whose}, on ${day(first.endsMs)}`,
        problems,
      );
    },
  };
}

const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
