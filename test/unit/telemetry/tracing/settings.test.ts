import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  SAMPLERS,
  type TracingEnvironment,
  tracingSettings,
} from '../../../../src/telemetry/tracing/settings.ts';

const ON = { OTEL_TRACES_EXPORTER: 'otlp' };
const isOn = (env: TracingEnvironment) => tracingSettings(env).settings !== undefined;

test('traces are sent when an exporter or an address is named, and not otherwise', () => {
  assert.equal(isOn({}), false);
  assert.equal(
    isOn({
      OTEL_SERVICE_NAME: 'a',
      OTEL_TRACES_SAMPLER: 'always_on',
      OTEL_EXPORTER_OTLP_ENDPOINT: ' ',
    }),
    false,
  );
  assert.equal(isOn({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }), true);
  assert.equal(isOn({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c:4318/v1/traces' }), true);
  assert.equal(isOn(ON), true);
  assert.equal(isOn({ OTEL_TRACES_EXPORTER: ' OTLP , none' }), true);
  assert.equal(
    isOn({ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' }),
    false,
  );
  assert.equal(isOn({ ...ON, OTEL_SDK_DISABLED: 'TRUE' }), false);
  assert.equal(isOn({ ...ON, OTEL_SDK_DISABLED: 'no' }), true);
});

test('defaults are as the specification defines them', () => {
  assert.deepEqual(tracingSettings(ON), {
    settings: {
      protocol: 'http/protobuf',
      sampler: 'parentbased_always_on',
      samplerRatio: 1,
      batching: {},
    },
    problems: [],
  });
});

test('protocol, sampler and batching are read; variables of traces take precedence', () => {
  const { settings, problems } = tracingSettings({
    ...ON,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.25',
    OTEL_BSP_SCHEDULE_DELAY: '0',
    OTEL_BSP_EXPORT_TIMEOUT: '2000',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '50',
  });
  assert.deepEqual(settings, {
    protocol: 'http/json',
    sampler: 'parentbased_traceidratio',
    samplerRatio: 0.25,
    batching: {
      scheduledDelayMillis: 0,
      exportTimeoutMillis: 2000,
      maxQueueSize: 100,
      maxExportBatchSize: 50,
    },
  });
  assert.deepEqual(problems, []);
});

test('invalid variables are reported by name and ignored', () => {
  const { settings, problems } = tracingSettings({
    OTEL_TRACES_EXPORTER: 'otlp,zipkin',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'thrift',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_BSP_MAX_QUEUE_SIZE: '-1',
  });
  assert.deepEqual(settings, {
    protocol: 'http/protobuf',
    sampler: 'parentbased_always_on',
    samplerRatio: 1,
    batching: {},
  });
  assert.deepEqual(problems.map((problem) => problem.split(' ', 1)[0]).sort(), [
    'OTEL_BSP_MAX_QUEUE_SIZE',
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'OTEL_TRACES_EXPORTER',
    'OTEL_TRACES_SAMPLER',
    'OTEL_TRACES_SAMPLER_ARG',
  ]);
});

test('grpc is unsupported: it is reported with a remedy instead of sending to its port', () => {
  const { settings, problems } = tracingSettings({ ...ON, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
  assert.equal(settings, undefined);
  assert.match(problems.join(), /OTEL_EXPORTER_OTLP_PROTOCOL is grpc.*http\/protobuf.*4318/);
});

test('the SDK accepts the settings of any variables', () => {
  const names = [
    'OTEL_TRACES_EXPORTER',
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'OTEL_TRACES_SAMPLER',
    'OTEL_TRACES_SAMPLER_ARG',
    'OTEL_BSP_MAX_QUEUE_SIZE',
    'OTEL_BSP_SCHEDULE_DELAY',
  ];
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('otlp', '0.5', 'NaN', '1e99', '-0', ...SAMPLERS),
    fc.integer().map(String),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), text), (env) => {
      const { settings } = tracingSettings({ ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c' });
      if (settings === undefined) return;
      assert.ok(settings.samplerRatio >= 0 && settings.samplerRatio <= 1);
      assert.ok((SAMPLERS as readonly string[]).includes(settings.sampler));
      for (const number of Object.values(settings.batching))
        assert.ok(Number.isSafeInteger(number) && number >= 0);
    }),
  );
});
