/** Decodes costly values at the heap limit of the chart. No value may exceed the limits of memory and time. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { costlyAvro, costlyProtobuf } from '../../support/hostile/binary-shapes.ts';
import type { CostlyFormat } from '../../support/hostile/costly-decoders.ts';
import { costlyJson } from '../../support/hostile/json-shapes.ts';
import { describe, Meter } from '../../support/hostile/meter.ts';

const MIB = 1024 * 1024;

/** Maximum memory of each format in addition to the value, including garbage, MiB (docs/operating.md). */
const MAX_MIB: Readonly<Record<CostlyFormat, number>> = {
  json: 24,
  expressions: 104,
  avro: 104,
  protobuf: 104,
};
/** Maximum processor time of a value, ms: a fixed part, and a part for each MiB of the value. */
const MAX_MS = 300;
const MAX_MS_A_MIB = 250;

const meter = await Meter.start();
after(() => meter.stop());

for (const [format, values] of [
  ['json', costlyJson()],
  ['expressions', costlyJson()],
  ['avro', costlyAvro()],
  ['protobuf', costlyProtobuf()],
] as const)
  for (const { name, value } of values)
    test(`${format}: ${name}`, async (t) => {
      const cost = await meter.measure(format, value);
      assert.ok(cost !== undefined, 'the value crashed the process');
      t.diagnostic(describe(cost));
      assert.ok(cost.ms <= MAX_MS + (MAX_MS_A_MIB * value.length) / MIB, describe(cost));
      assert.ok(cost.peakBytes <= MAX_MIB[format] * MIB, describe(cost));
    });
