/** All checks of a configuration, in the order in which they run. */
import { Counts } from '../../../packages/client/src/base/counts.ts';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { PartitionBounds } from '../../core/ports/kafka.ts';
import {
  type Diagnosis,
  type DoctorCheck,
  type DoctorParts,
  failed,
  type KafkaParts,
  messageOf,
  ok,
  type PipelineParts,
  type ServiceParts,
  together,
  warning,
} from './check.ts';
import { groupChecks, journalCheck } from './journal-checks.ts';
import { topicChecks } from './topic-checks.ts';

// Decodes the newest source records in the same way as the pipeline, and reports only counts (I6).

const MAX_PARTITIONS = 8;
const MAX_RECORDS = 200;
const ACCEPTED: Readonly<Record<string, string>> = {
  review: 'reviewed',
  import: 'imported',
  lookup: 'looked up',
};

function sampleCheck({ engine, inspection, decoder }: PipelineParts): DoctorCheck {
  const { topic } = engine.source;
  const { scan } = inspection;
  return {
    name: 'source.records',
    about: `newest records of ${topic}`,
    needs: ['topic.source', 'registry.source'],
    async run(signal) {
      const skipped = new Counts();
      const deadLetters = new Counts();
      let [accepted, outside] = [0, 0];
      for (const range of newestRanges(await scan.bounds(topic))) {
        await scan.read(
          topic,
          range,
          async ({ records, unreadable }) => {
            const sampled = records.filter((record) => !decoder.isOutsideSample?.(record));
            outside += records.length - sampled.length;
            await decoder.prepare?.(sampled, signal);
            for (const record of sampled) {
              const decoded = decoder.decode(record, 0);
              if ('skip' in decoded) skipped.add(decoded.skip);
              else if ('poison' in decoded) deadLetters.add(decoded.poison.reason);
              else accepted++;
            }
            if (unreadable !== undefined)
              deadLetters.add(unreadable.poison.reason, unreadable.to - unreadable.from);
          },
          signal,
        );
      }

      const all = accepted + skipped.total + deadLetters.total;
      if (all === 0)
        return ok(
          outside === 0 ? 'no records yet' : `none of the ${outside} records is in the sample`,
        );
      const found = `${accepted} of ${all} would be ${ACCEPTED[decoder.name] ?? 'accepted'}${textOf(skipped, 'skipped')}${textOf(deadLetters, deadLetters.total === 1 ? 'dead letter' : 'dead letters')}`;
      return judged(found, all, skipped.total, deadLetters.total);
    },
  };
}

function judged(found: string, all: number, skipped: number, deadLetters: number): Diagnosis {
  if (deadLetters > 0) {
    const remedy =
      'try one record with check --sample, and correct source.format, source.mapping or the producer (docs/mapping.md)';
    return deadLetters === all ? failed(found, remedy) : warning(found, remedy);
  }
  return skipped === all ? warning(found, 'check source.filter and source.nullValues') : ok(found);
}

/** Returns ranges with the newest offsets of some partitions that have records. */
function newestRanges(bounds: ReadonlyMap<number, PartitionBounds>) {
  const filled = [...bounds].filter(([, { start, stable }]) => stable > start);
  const chosen = filled.slice(0, MAX_PARTITIONS);
  const count = Math.ceil(MAX_RECORDS / chosen.length);
  return chosen.map(([partition, { start, stable }]) => ({
    partition,
    from: Math.max(start, stable - count),
    until: stable,
  }));
}

const textOf = (counts: Counts, what: string): string =>
  counts.total === 0 ? '' : `, ${counts.total} ${what} (${counts.listed().join(', ')})`;

export function checksOf({ kafka, services, pipelines }: DoctorParts): DoctorCheck[] {
  const kindsOf = ({ name }: ServiceParts) => {
    const users = pipelines.filter(({ engine }) => engine.service === name);
    return new Set(users.map(({ inspection }) => inspection.pipeline.kind));
  };
  return [
    ...kafkaChecks(kafka),
    ...services.flatMap((service) =>
      [...kindsOf(service)].map((kind) => serviceCheck(service, kind)),
    ),
    ...pipelines.flatMap((pipeline) =>
      pipelineChecks(pipeline, kafka).map((check) => ({ ...check, pipeline: pipeline.name })),
    ),
  ];
}

const pipelineChecks = (pipeline: PipelineParts, kafka: KafkaParts): DoctorCheck[] => [
  ...topicChecks(pipeline),
  journalCheck(pipeline, kafka),
  ...groupChecks(pipeline, kafka),
  ...pipeline.registryChecks,
  sampleCheck(pipeline),
];

function kafkaChecks({ addresses, inspector, login }: KafkaParts): DoctorCheck[] {
  return [
    {
      name: 'kafka.connect',
      about: `kafka.brokers ${addresses.join(',')}`,
      async run() {
        const failures = await Promise.all(
          addresses.map(async (address) => {
            try {
              return void (await inspector.connect(address));
            } catch (error) {
              return addresses.length === 1 ? messageOf(error) : `${address}: ${messageOf(error)}`;
            }
          }),
        );
        const found = failures.filter((failure) => failure !== undefined);
        if (found.length === addresses.length) return failed([...new Set(found)].join('; '));
        return together(
          `connected by ${login()}`,
          found.map((one) => warning(one, 'correct kafka.brokers, or start that broker')),
        );
      },
    },
    {
      name: 'kafka.brokers',
      about: 'the brokers of the cluster',
      needs: ['kafka.connect'],
      async run() {
        const all = await inspector.brokers();
        const named = all.map(({ id, address }) => `${id} at ${address}`);
        const problems = all.map(
          ({ id, address, failure }) =>
            failure !== undefined &&
            failed(
              `broker ${id} at ${address}: ${failure}`,
              'make its advertised.listeners address reachable from here, and name the listener for this network in kafka.brokers',
            ),
        );
        return together(`${named.join(', ')}: all respond`, problems);
      },
    },
  ];
}

/** Object that pipelines of a kind create or read at the service. */
const OBJECTS: Readonly<Record<string, string>> = { import: 'import', lookup: 'decision' };

function serviceCheck({ path, address, ask }: ServiceParts, kind: string): DoctorCheck {
  const object = OBJECTS[kind] ?? 'batch';
  return {
    name: `${path}.${object}`,
    about: `${path} ${address}, request for an unknown ${object}`,
    async run(signal): Promise<Diagnosis> {
      try {
        await ask(kind, signal);
        return warning('it returned one for a random id', `check that ${path}.baseUrl is correct`);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { failure, status, message } = error;
        if (failure === 'not_found') {
          const other = kind === 'import' ? ` or ${path}.importPath` : '';
          return ok(
            `responded with ${status ?? 404} as expected; a wrong path in ${path}.baseUrl${other} would look the same`,
          );
        }
        // The error's message already ends with the remedy.
        return failure === 'rejected' && status !== undefined ? warning(message) : failed(message);
      }
    },
  };
}
