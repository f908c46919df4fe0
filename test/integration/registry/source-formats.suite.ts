/** Tests of every source format except JSON, from the bytes in the topic to the decision. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isKeptNumber } from '../../../packages/client/src/base/json/json-text.ts';
import { parseKeepingDigits } from '../../../packages/client/src/base/json/parse-json.ts';
import type { SourceCoordinate } from '../../../src/core/record.ts';
import type { SchemaRegistry } from '../../../src/events/registry/index.ts';
import {
  type Format,
  type SourceFormatRecord,
  sourceFormatRecords,
} from '../../support/formats/source-records.ts';
import type { NewRecord, TestKafka } from '../../support/kafka/kafka.ts';
import { headerOf } from '../../support/records/headers.ts';
import { type Stack, type StackPipeline, startStack } from '../../support/stack/stack.ts';
import { type Terminal, TerminalRecords } from '../../support/stack/terminal-records.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SOON = {
  batch: { maxRows: 50, maxAge: '500ms' },
  review: { poll: '500ms' },
};
const { signal } = new AbortController();

/** Mapping for the records of each format. */
const MAPPINGS = {
  avro: { content: 'content || text', type: { field: "colour || 'post'" }, metadata: '@' },
  protobuf: { content: 'content', type: { field: "kind || 'post'" }, metadata: '@' },
  'json-schema': { content: 'content', type: { constant: 'post' }, metadata: '@' },
  text: { type: { field: "header('type')" }, metadata: "{lang: header('lang')}" },
  cloudevents: {
    content: 'data.text || data',
    type: { field: 'type' },
    metadata: '{id: id, about: subject, data: data}',
  },
} as const satisfies Record<Format, unknown>;
const FORMATS = Object.keys(MAPPINGS) as Format[];

export function sourceFormatsSuite(kafka: TestKafka, url: string, registry: SchemaRegistry): void {
  describe('source formats', () => {
    const directory = temporaryDirectory();
    let stack: Stack | undefined;
    after(() => stack?.stop());
    let sent: Readonly<Record<Format, readonly SourceFormatRecord[]>>;
    const found = {} as Record<Format, Terminal[]>;

    before(async () => {
      sent = await sourceFormatRecords(registry, signal);
      const setup = (format: Format) => ({
        partitions: 1,
        pipeline: {
          name: format,
          source: { format, mapping: MAPPINGS[format] },
          output: { includeContent: true },
          ...SOON,
        },
      });
      const [first, ...others] = FORMATS.map(setup);
      stack = await startStack(kafka, directory, {
        ...(first as ReturnType<typeof setup>),
        beside: others,
        config: { schemaRegistry: { urls: [url] } },
      });
      const { pipelines, replicas } = stack;
      const written = pipelines.map(({ name, topics }) =>
        kafka.write(topics.source, keyed(sent[name as Format])),
      );
      const [coordinates] = await Promise.all([Promise.all(written), stack.startReplica()]);
      await Promise.all(
        pipelines.map(async ({ name, topics }: StackPipeline, index) => {
          const source = coordinates[index] as SourceCoordinate[];
          const terminal = new TerminalRecords(kafka, { topics, replicas });
          await terminal.untilCount(source.length, 60_000);
          terminal.assertOnceEach(source);
          found[name as Format] = source.map((at) => terminal.one(at));
        }),
      );
    });

    for (const format of FORMATS) {
      test(`${format}: a record becomes a decision with exact content, type and metadata, or a dead letter with its reason`, () => {
        for (const [index, { name, becomes, value }] of sent[format].entries()) {
          const { record, reason, decision } = found[format][index] as Terminal;
          assert.equal(String(record.key), `key-${index}`, name);
          if ('reason' in becomes) {
            assert.equal(reason, becomes.reason, name);
            assert.match(headerOf(record, 'dead-letter-message'), becomes.message, name);
            assert.deepEqual(record.value, Buffer.from(value ?? ''), name);
            continue;
          }
          assert.equal(reason, undefined, `${name}: ${headerOf(record, 'dead-letter-message')}`);
          assert.deepEqual(
            [decision?.content, decision?.batch.type, decision?.status],
            [becomes.content, becomes.type, 'SUCCESS'],
            name,
          );
          const { metadata } = parseKeepingDigits(String(record.value)) as { metadata: unknown };
          assert.equal(sorted(metadata), sorted(parseKeepingDigits(becomes.metadata)), name);
        }
      });
    }
  });
}

const keyed = (records: readonly SourceFormatRecord[]): NewRecord[] =>
  records.map((record, n) => ({ ...record, key: `key-${n}` }));

/** Returns JSON text with sorted members and unchanged digits of numbers. */
function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null || isKeptNumber(value))
    return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted).join()}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}:${sorted(member)}`,
  );
  return `{${members.sort().join()}}`;
}
