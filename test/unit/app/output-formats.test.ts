/** Registry requests for the output format when a connector starts, and the handling of their responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OutputFormats } from '../../../src/app/output-formats.ts';
import type { Config } from '../../../src/config/schema.ts';
import { UnusableSchema } from '../../../src/events/registry/index.ts';
import { RefusedError } from '../../../src/pipeline/context/errors.ts';
import { contractFile } from '../../support/contracts.ts';
import { VirtualClock } from '../../support/memory/clock.ts';
import { MemoryRegistry } from '../../support/memory/schema-registry.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';
import { parse } from '../config/problems-of.ts';
import { kindWithFile, referenceOf, SIGNAL } from '../kinds/review/sample.ts';

const DECISION = { type: 'AVRO', text: contractFile('avro/decision.avsc') } as const;
const OTHER = { type: 'AVRO', text: '"string"' } as const;

function configOf(output: string): Config {
  return parse(`
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
schemaRegistry: {urls: ["http://127.0.0.1:1"]}
pipelines: [{name: posts, source: {topic: events}, output: ${output}}]
`);
}

function world(output = '{format: avro}') {
  const [pipeline] = configOf(output).pipelines;
  assert.ok(pipeline);
  const outputs = new OutputFormats();
  const registry = new MemoryRegistry();
  const logger = new RecordingLogger();
  const clock = new VirtualClock();
  const kind = kindWithFile(
    `Content,Status,Service result,connector_ref\nx,SUCCESS,spam,${referenceOf()}`,
  );
  const wrapped = outputs.wrap(pipeline, kind);
  const prepare = (signal: AbortSignal = SIGNAL) =>
    outputs.prepare({
      registry,
      urls: ['http://registry'],
      clock,
      random: { next: () => 0.5 },
      logger,
      signal,
    });
  /** Expects a rejection, and allows a few seconds for retries before it. */
  const refused = async (why: RegExp | ((error: Error) => boolean)) => {
    let over = false;
    const ended = assert.rejects(prepare(), why).finally(() => {
      over = true;
    });
    await clock.runUntil(() => over, 6_000);
    await ended;
  };
  return { outputs, registry, logger, clock, kind, wrapped, prepare, refused };
}

test('with JSON as output format the kind is not wrapped', () => {
  const { kind, wrapped } = world('{}');
  assert.equal(wrapped, kind);
});

test('an incompatible schema is refused, with the latest version and the reasons of the registry', async () => {
  const { registry, refused } = world();
  await registry.register('events.decisions-value', OTHER, SIGNAL);
  registry.judge = () => ({ compatible: false, messages: ['TYPE_MISMATCH at /'] });
  await refused((error: Error) => {
    assert.ok(error instanceof RefusedError);
    assert.match(
      error.message,
      /incompatible with the versions of subject events\.decisions-value, the latest of which is 1 \(TYPE_MISMATCH at \/\)/,
    );
    return true;
  });
});

test('an unusable response about a schema fails the start without a retry', async () => {
  const { registry, refused } = world();
  registry.failure = new UnusableSchema('the response of the registry is larger than 4 MiB');
  await refused((error: Error) => {
    assert.ok(error instanceof RefusedError);
    assert.match(error.message, /subject events\.decisions-value: the response of the registry is/);
    return true;
  });
});

test('a registry that cannot be reached is retried for half a minute, and each wait is logged', async () => {
  const { registry, prepare, clock, logger } = world();
  await registry.register('events.decisions-value', DECISION, SIGNAL);
  registry.down();
  const back = prepare();
  await clock.advance(5_000);
  registry.failure = undefined;
  await clock.advance(5_000);
  await back;
  assert.ok(logger.lines.some(({ message }) => message === 'waiting for the schema registry'));

  registry.down();
  const startMs = clock.now();
  let goneMs = 0;
  const gone = assert
    .rejects(
      prepare(),
      /^RegistryUnavailable: the schema registry \(http:\/\/registry\): no connection/,
    )
    .then(() => {
      goneMs = clock.now();
    });
  await clock.runUntil(() => goneMs > 0, 60_000);
  await gone;
  assert.ok(goneMs - startMs > 20_000 && goneMs - startMs <= 30_000, `${goneMs - startMs} ms`);
});
