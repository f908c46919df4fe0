/** All checks of a configuration, in the order in which they run. */
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import {
  type Diagnosis,
  type DoctorCheck,
  type DoctorParts,
  failed,
  KAFKA_CONNECT,
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
];

function kafkaChecks({ addresses, inspector, login }: KafkaParts): DoctorCheck[] {
  return [
    {
      name: KAFKA_CONNECT,
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
      needsKafka: true,
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
        return warning('it returned data for a random id', `check that ${path}.baseUrl is correct`);
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
