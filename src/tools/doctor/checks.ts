/** Every check of a configuration, in the order in which they are told. */
import type { Check } from './check.ts';
import { ok } from './check.ts';
import { groupChecks } from './group-checks.ts';
import { journalChecks } from './journal-checks.ts';
import { kafkaChecks } from './kafka-checks.ts';
import { memoryCheck } from './memory-check.ts';
import type { DoctorParts, PipelineParts } from './parts.ts';
import { roundTripCheck } from './round-trip.ts';
import { sampleCheck } from './sample-check.ts';
import { questionOf, type ServiceChecks, serviceChecks } from './service-checks.ts';
import { topicChecks } from './topic-checks.ts';
import { Topics } from './topics.ts';

export function checksOf(parts: DoctorParts): Check[] {
  const kafka = kafkaChecks(parts);
  const service = serviceChecks(parts);
  const registry = registryCheck(parts);
  const topics = new Topics(parts.kafka);
  return [
    memoryCheck(parts.memory),
    ...kafka.checks,
    ...service.checks,
    ...(registry === undefined ? [] : [registry]),
    ...parts.pipelines.flatMap((pipeline) =>
      pipelineChecks(parts, pipeline, topics, { reached: kafka.reached, service, registry }),
    ),
  ];
}

function registryCheck({ registry }: DoctorParts): Check | undefined {
  if (registry === undefined) return undefined;
  return {
    name: 'registry.connect',
    about: `schema registry ${registry.addresses.join(',')}`,
    async run(signal) {
      await registry.ask(signal);
      return ok('answers, and takes the credentials');
    },
  };
}

function pipelineChecks(
  parts: DoctorParts,
  pipeline: PipelineParts,
  topics: Topics,
  {
    reached,
    service,
    registry,
  }: {
    readonly reached: Check;
    readonly service: ServiceChecks;
    readonly registry: Check | undefined;
  },
): Check[] {
  const { source, output, deadLetters } = topicChecks(pipeline, topics, reached);
  const journal = journalChecks(pipeline, parts.kafka, topics, { reached, source });
  const [members, ...transactions] = groupChecks(
    pipeline,
    parts.kafka,
    reached,
    parts.roundTrip !== undefined,
  );
  const schemas = schemaChecks(pipeline, registry);
  // What cannot be read without the registry would wait for it.
  const sample = sampleCheck(
    pipeline,
    parts.kafka,
    source,
    registry !== undefined && pipeline.sourceSchema !== undefined ? [registry] : [],
  );
  const checks: (Check | undefined)[] = [
    source,
    output,
    deadLetters,
    journal.topic,
    journal.content,
    members,
    journal.offsets,
    ...transactions,
    ...schemas,
    sample.check,
  ];
  if (parts.roundTrip !== undefined) {
    const asked = service.asked.get(questionOf(pipeline.inspection.pipeline.kind));
    checks.push(
      roundTripCheck(
        pipeline,
        parts.clock,
        parts.roundTrip,
        asked === undefined ? [] : [asked],
        sample,
      ),
    );
  }
  return checks.filter((check) => check !== undefined);
}

function schemaChecks(pipeline: PipelineParts, registry: Check | undefined): Check[] {
  const needs = registry === undefined ? [] : [registry];
  const { outputSchema, sourceSchema } = pipeline;
  const about = (topic: string) => ({ pipeline: pipeline.name, needs, about: topic });
  return [
    ...(outputSchema === undefined
      ? []
      : [
          {
            name: 'registry.output',
            ...about(`schema of ${pipeline.engine.output.topic}`),
            run: outputSchema,
          },
        ]),
    ...(sourceSchema === undefined
      ? []
      : [
          {
            name: 'registry.source',
            ...about(`newest schema of ${pipeline.engine.source.topic}`),
            run: sourceSchema,
          },
        ]),
  ];
}
