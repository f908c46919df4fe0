import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bodyOf } from '../../../../src/app/tools/sample.ts';
import type { RecordHeaders, SourceRecord } from '../../../../src/core/record.ts';
import { reviewKind } from '../../../../src/kinds/review/index.ts';
import { assertContract } from '../../../support/contracts.ts';
import { headerOf, headersAsBytes } from '../../../support/records/headers.ts';
import {
  decisions,
  itemOf,
  JOB,
  ROW_KEY,
  scriptedService,
  unendedTwice,
} from '../../../unit/kinds/review/sample.ts';
import { decimals } from './decimals.ts';
import { echo, echoBehaviour } from './echo-service.ts';
import { HEADER_NAMES, headers, hostileText, keyBytes, metadataText } from './hostile.ts';

/** Timestamps that a record batch can contain, far beyond the range of Date. */
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(Number);
const MAX_DATE_MS = 8.64e15;

const event = fc.record({
  content: hostileText.filter((text) => text !== ''),
  metadata: metadataText,
  expected: fc.option(hostileText, { nil: undefined }),
  key: keyBytes,
  headers,
  partition: fc.nat(500),
  timestampMs: fc.oneof(fc.constant(-1), fc.integer({ min: 0, max: 4102444800000 }), int64),
});
type Event = typeof event extends fc.Arbitrary<infer T> ? T : never;

function recordOf(event: Event, offset: number): SourceRecord {
  const { content, metadata, expected, partition, timestampMs, key, headers } = event;
  const text = `{"content":${JSON.stringify(content)},"type":"t","metadata":${metadata},"expected_result":${JSON.stringify(expected ?? null)}}`;
  return { partition, offset, timestampMs, key, headers, value: Buffer.from(text) };
}

test('a decision has the metadata of its event, for any changes by the service to its other cells', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 1, maxLength: 6 }),
      echoBehaviour,
      fc.constantFrom(undefined, [], ['a', 'lang']),
      fc.nat(2),
      async (events, behaviour, columns, replay) => {
        let upload = Buffer.alloc(0);
        const kind = reviewKind(
          {
            topic: 'events',
            headers: HEADER_NAMES,
            columns,
            includeContent: true,
            resultColumn: 'Acme result',
          },
          scriptedService({
            download: async function* () {
              yield* echo(upload, behaviour);
            },
          }),
        );
        const records = events.map(recordOf);
        const items = records.map((record) => itemOf(kind, record, replay));
        upload = Buffer.from((await bodyOf(kind, items, ROW_KEY)).body);
        // The decisions come from the third equal file, which is accepted although its last row has no line end.
        const found = await decisions(kind, JOB, await unendedTwice(kind));
        assert.equal(found.length, events.length);
        const byOffset = new Map(
          found.map((decision) => [
            Number(/-(\d+)(?:#\d+)?$/.exec(headerOf(decision, 'event-id'))?.[1]),
            decision,
          ]),
        );
        for (const [offset, sent] of events.entries()) {
          const decision = byOffset.get(offset);
          assert.ok(decision);
          const text = String(decision.value);
          const value = JSON.parse(text);
          assert.equal(
            value.id,
            `events-${sent.partition}-${offset}${replay === 0 ? '' : `#${replay}`}`,
          );
          assert.equal(value.result, 'ok');
          assert.equal(value.expected_result, sent.expected ?? null);
          assert.equal(value.content, sent.content);
          assert.deepEqual(value.metadata, JSON.parse(sent.metadata));
          assertContract('decision', value);
          assert.deepEqual(
            decimals(text).metadata,
            decimals(`{"metadata":${sent.metadata}}`).metadata,
          );
          const hasDate = sent.timestampMs >= 0 && sent.timestampMs <= MAX_DATE_MS;
          assert.equal(
            value.source.timestamp,
            hasDate ? new Date(sent.timestampMs).toISOString() : null,
          );
          assert.deepEqual(decision.key === null ? null : Buffer.from(decision.key), sent.key);
          assert.deepEqual(listed(decision.headers ?? []), listed(sent.headers));

          // An item without a row gets the same metadata.
          const item = items[offset];
          assert.ok(item);
          const failed = String(kind.failure(item, { code: 'x', message: 'y' }, JOB).value);
          assert.deepEqual(
            decimals(failed).metadata,
            decimals(`{"metadata":${sent.metadata}}`).metadata,
          );
        }
      },
    ),
    { numRuns: 300 },
  );
});

/** Returns the headers that the configuration selects, as bytes. */
const listed = (all: RecordHeaders): RecordHeaders =>
  headersAsBytes(all.filter(([name]) => HEADER_NAMES.includes(name)));

test('selected fields are preserved, with the digits of every number', async () => {
  await fc.assert(
    fc.asyncProperty(metadataText, echoBehaviour, async (metadata, behaviour) => {
      const value = Buffer.from(`{"content":"c","type":"t","a":{"b":${metadata}}}`);
      let upload = Buffer.alloc(0);
      const kind = reviewKind(
        {
          topic: 'events',
          resultColumn: 'Acme result',
          metadata: '{whole: a.b, "via expression": {m: a.b}.m}',
        },
        scriptedService({
          download: async function* () {
            yield* echo(upload, behaviour);
          },
        }),
      );
      const record = { partition: 0, offset: 0, timestampMs: 0, key: null, headers: [], value };
      const wanted = decimals(`{"metadata":{"whole":${metadata},"via expression":${metadata}}}`)
        .metadata as Record<string, unknown>;
      upload = Buffer.from((await bodyOf(kind, [itemOf(kind, record)], ROW_KEY)).body);
      const [decision] = await decisions(kind, JOB, await unendedTwice(kind));
      const text = String(decision?.value);
      assert.deepEqual(decimals(text).metadata, wanted);
    }),
    { numRuns: 60 },
  );
});

test('a decision has the configured key and contains its event’s key, also after a failure', async () => {
  await fc.assert(
    fc.asyncProperty(
      hostileText,
      keyBytes,
      echoBehaviour,
      fc.nat(1),
      async (wanted, key, behaviour, replay) => {
        let upload = Buffer.alloc(0);
        const kind = reviewKind(
          { topic: 'events', resultColumn: 'Acme result', outputKey: 'wanted' },
          scriptedService({
            download: async function* () {
              yield* echo(upload, behaviour);
            },
          }),
        );
        const value = Buffer.from(
          JSON.stringify({ content: 'c', type: 't', wanted: wanted === 'null' ? null : wanted }),
        );
        const item = itemOf(
          kind,
          { partition: 0, offset: 0, timestampMs: 0, key, headers: [], value },
          replay,
        );
        upload = Buffer.from((await bodyOf(kind, [item], ROW_KEY)).body);
        const expected = wanted === 'null' ? null : Buffer.from(wanted);
        for (const decision of [
          (await decisions(kind, JOB, await unendedTwice(kind)))[0],
          kind.failure(item, { code: 'x', message: 'y' }, JOB),
        ]) {
          assert.ok(decision !== undefined);
          assert.deepEqual(decision.key === null ? null : Buffer.from(decision.key), expected);
          const { source } = JSON.parse(String(decision.value));
          const encoding = source.key_encoding === 'base64' ? 'base64' : 'utf8';
          assert.deepEqual(source.key === null ? null : Buffer.from(source.key, encoding), key);
        }
      },
    ),
    { numRuns: 60 },
  );
});
