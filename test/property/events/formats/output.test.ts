/** Writes rendered reviews in every output format, and reads them back with third-party readers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import avsc from 'avsc';
import fc from 'fast-check';
import protobuf from 'protobufjs';
import { parseKeepingDigits } from '../../../../packages/client/src/base/json/parse-json.ts';
import { readLabels } from '../../../../packages/client/src/results/labels.ts';
import type { OutgoingRecord } from '../../../../src/core/record.ts';
import {
  RegisteredFormat,
  type RegistryFormatName,
} from '../../../../src/events/formats/output-format.ts';
import { contractFile } from '../../../support/contracts.ts';
import { decimals } from '../../kinds/review/decimals.ts';
import { headers, hostileText, keyBytes, metadataText } from '../../kinds/review/hostile.ts';

const SCHEMA_ID = 0x01020304;

interface Rendered {
  readonly record: OutgoingRecord;
  /** JSON text of the record's metadata. */
  readonly metadata: string;
}

const instant = fc
  .integer({ min: 0, max: 253402300799999 })
  .map((ms) => new Date(ms).toISOString());
/** Label cells, valid and invalid. */
const labelCell = fc.oneof(
  hostileText,
  fc
    .array(
      fc.record({
        name: hostileText,
        applied: fc.boolean(),
        explanation: hostileText,
        score: fc.double(),
      }),
    )
    .map(toJson),
  fc
    .array(
      fc.record(
        { name: hostileText, applied: fc.anything(), more: fc.anything() },
        { requiredKeys: ['name'] },
      ),
    )
    .map(toJson),
  metadataText.map((text) => `[{"name":"a","applied":true,"explanation":"b","deep":${text}}]`),
);

function toJson(value: unknown): string {
  return JSON.stringify(value);
}

const rendered: fc.Arbitrary<Rendered> = fc
  .tuple(
    fc.record(
      {
        id: hostileText,
        status: fc.constantFrom('SUCCESS', 'ERROR'),
        service_status: hostileText,
        result: fc.option(hostileText),
        expected_result: fc.option(hostileText),
        labels_raw: hostileText,
        content: hostileText,
        error: fc.option(fc.record({ code: hostileText, message: hostileText })),
        batch: fc.record({
          id: fc.option(hostileText),
          type: hostileText,
          attempt: fc.nat({ max: 2 ** 31 - 1 }),
        }),
        source: fc.record(
          {
            topic: hostileText,
            partition: fc.nat(),
            // The Avro library refuses 2 ** 53 - 1.
            offset: fc.oneof(fc.nat(), fc.constantFrom(2 ** 31, 2 ** 53 - 2)),
            key: fc.option(hostileText),
            key_encoding: fc.constant('base64'),
            timestamp: fc.option(instant),
          },
          { requiredKeys: ['topic', 'partition', 'offset', 'key', 'timestamp'] },
        ),
        decided_at: instant,
      },
      {
        requiredKeys: [
          ...(['id', 'status', 'result', 'expected_result', 'error'] as const),
          ...(['batch', 'source', 'decided_at'] as const),
        ],
      },
    ),
    labelCell,
    metadataText,
    keyBytes,
    headers,
  )
  .map(([members, cell, metadata, key, headers]) => {
    const raw = `"labels":${readLabels(cell).json},"metadata":${metadata}}`;
    const value = Buffer.from(`${toJson(members).slice(0, -1)},${raw}`);
    return { metadata, record: { key, value, headers } };
  });

const formats = new Map<string, RegisteredFormat>();
function framed({ record }: Rendered, format: RegistryFormatName): Buffer {
  let writer = formats.get(format);
  if (writer === undefined) {
    writer = new RegisteredFormat('decision', format, 'decisions-value');
    writer.writeWith(SCHEMA_ID);
    formats.set(format, writer);
  }
  const written = writer.encode(record);
  assert.deepEqual([written.key, written.headers], [record.key, record.headers]);
  const value = written.value as Buffer;
  assert.deepEqual([...value.subarray(0, 5)], [0, 1, 2, 3, 4]);
  return value.subarray(5);
}

type Members = Readonly<Record<string, unknown>>;

/**
 * Converts JSON to the representation of Avro and Protobuf: strings as valid UTF-8, instants in ms, open objects as
 * JSON text.
 */
function said(
  { record, metadata: given }: Rendered,
  [extra, metadataName, at]: readonly [string, string, (name: string) => string],
): Members {
  const {
    labels,
    metadata: _,
    source: from,
    decided_at,
    error: failure,
    batch,
    ...rest
  } = parseKeepingDigits(String(record.value)) as {
    labels: Members[];
    source: Members;
    decided_at: string;
    error: Members | null;
    batch: Members;
  } & Members;
  const { timestamp, ...coordinates } = from;
  return present({
    ...rest,
    labels: labels.map(({ name, applied, explanation, ...more }) =>
      present({
        name,
        applied,
        explanation,
        [extra]: Object.keys(more).length === 0 ? null : decimals(JSON.stringify(more)),
      }),
    ),
    // Metadata must be exactly as rendered, including all digits.
    [metadataName]: given,
    error: failure === null ? null : present(failure),
    batch: present(batch),
    source: present({
      ...coordinates,
      [at('timestamp')]: timestamp === null ? null : Date.parse(String(timestamp)),
    }),
    [at('decided_at')]: Date.parse(decided_at),
  });
}

/** Removes nulls, and converts numbers to strings and strings to valid UTF-8. Nested objects are already converted. */
function present(members: Members): Members {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      if (value === null || value === undefined) return [];
      if (typeof value === 'number' || typeof value === 'bigint') return [[name, String(value)]];
      return [[name, typeof value === 'string' ? value.toWellFormed() : value]];
    }),
  );
}

/** Members of JSON text whose numbers may be written differently, such as 1.0 as 1. */
const EXTRA: ReadonlySet<string> = new Set(['extra', 'extra_json']);

/** Normalizes all levels of a reader's result. */
function read(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(read);
  if (typeof value !== 'object' || value === null) return value;
  return present(
    Object.fromEntries(
      Object.entries(value).map(([name, part]) => [
        name,
        EXTRA.has(name) && part !== null ? decimals(String(part)) : read(part),
      ]),
    ),
  );
}

const RUNS = { numRuns: 400 };
const LONG = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: () => assert.fail('the test only reads'),
  fromJSON: BigInt,
  toJSON: String,
  isValid: () => true,
  compare: () => 0,
});

test('Avro: avsc reads all members of the JSON, offsets with every digit', () => {
  const type = avsc.Type.forSchema(JSON.parse(contractFile('avro/decision.avsc')), {
    registry: { long: LONG },
  });
  fc.assert(
    fc.property(rendered, (one) => {
      const decoded = read(type.fromBuffer(framed(one, 'avro')));
      assert.deepEqual(decoded, said(one, ['extra', 'metadata', (field) => field]));
    }),
    RUNS,
  );
});

test('Protobuf: protobufjs reads all members of the JSON after the one byte for the first message', () => {
  const type = protobuf
    .parse(contractFile('protobuf/decision.proto'), { keepCase: true })
    .root.lookupType('Decision');
  fc.assert(
    fc.property(rendered, (one) => {
      const payload = framed(one, 'protobuf');
      assert.equal(payload[0], 0);
      const decoded = type.toObject(type.decode(payload.subarray(1)), {
        longs: String,
        enums: String,
        defaults: true,
      });
      const {
        labels = [],
        status,
        ...wanted
      } = said(one, ['extra_json', 'metadata_json', (field) => `${field}_ms`]);
      const found = read(decoded) as Members;
      assert.equal(found.status, `STATUS_${status}`);
      assert.deepEqual(found.labels ?? [], labels);
      // proto3 omits zeros and empty values.
      const { status: _status, labels: _labels, ...rest } = found;
      assert.deepEqual(withoutDefaults(rest), withoutDefaults(wanted));
    }),
    RUNS,
  );
});

function withoutDefaults(members: Members): Members {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => {
      if (value === '' || value === '0' || value === false) return [];
      return [
        [
          name,
          typeof value === 'object' && !Array.isArray(value)
            ? withoutDefaults(value as Members)
            : value,
        ],
      ];
    }),
  );
}

test('JSON Schema: the frame is followed by the rendered JSON, byte for byte', () => {
  fc.assert(
    fc.property(rendered, (one) => {
      assert.deepEqual(framed(one, 'json-schema'), one.record.value);
    }),
    { numRuns: 100 },
  );
});
