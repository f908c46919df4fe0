/**
 * Bytes of outputs with schemas, which change only if a format does. node
 * test/support/formats/output-bytes.ts prints them for test/fixtures/output/read.py
 */
import { jsonTextOf } from '../../../packages/client/src/base/json/json-text.ts';
import { readLabels } from '../../../packages/client/src/results/labels.ts';
import type { OutgoingRecord } from '../../../src/core/record.ts';
import {
  codecOf,
  type OutputContract,
  REGISTRY_FORMATS,
  RegisteredFormat,
  type RegistryFormatName,
} from '../../../src/events/formats/output-format.ts';
import { receiptOf } from '../../../src/kinds/import/index.ts';
import { lookedUpDecision } from '../../../src/kinds/lookup/index.ts';
import { DecisionWriter } from '../../../src/kinds/review/decision-writer.ts';
import { createDecisionRenderer, type DecisionFacts } from '../review/plain-decision.ts';

export interface WrittenOutput {
  readonly name: string;
  readonly format: RegistryFormatName;
  /** File of its schema, below contracts/. */
  readonly file: string;
  /** The JSON that all formats say. */
  readonly json: string;
  /** base64 */
  readonly value: string;
}

const JOB = {
  jobId: 'j',
  remoteId: 'b-8c1f',
  type: 'post',
  attempt: 1,
  decidedAtMs: Date.parse('2026-01-01T00:02:03.456Z'),
};
const SOURCE = {
  partition: 3,
  offset: 41,
  timestampMs: Date.parse('2026-01-01T00:00:00.000Z'),
  key: Buffer.from('user-7'),
  headers: [],
  replay: 0,
};
/** The largest there are, a key that is no text, and no timestamp. */
const EXTREME = {
  ...SOURCE,
  partition: 2 ** 31 - 1,
  offset: Number.MAX_SAFE_INTEGER - 1,
  timestampMs: -1,
  key: Buffer.from([0xff]),
  replay: 2,
};
const ERROR = { code: 'rejected', message: 'naïve "quotes" 😀' };

const PLAIN: DecisionFacts = {
  status: 'SUCCESS',
  serviceStatus: undefined,
  result: 'spam',
  expected: undefined,
  labels: readLabels('[{"name":"scam","applied":true,"explanation":"Promises a prize."}]'),
  metadata:
    '{"user_id":"007","score":0.25,"thread":{"id":12345678901234567890,"tags":["a",null]},"price":10.00}',
  content: undefined,
  error: undefined,
};
const EVERYTHING: DecisionFacts = {
  status: 'ERROR',
  serviceStatus: 'POSTPONED',
  result: '',
  expected: 'ham\u0000',
  labels: {
    json: '[{"name":"","applied":false,"explanation":null,"score":0.5}]',
    raw: 'as; it; came',
  },
  metadata: '{"__proto__":{"名":"🙂"},"min":-9223372036854775808,"empty":{}}',
  content: `${'long '.repeat(40)}\r\n"end"`,
  error: ERROR,
};

const DECISIONS = { topic: 'events', includeContent: true };
const decision = createDecisionRenderer(DECISIONS);
const ITEM = {
  type: 't',
  content: jsonTextOf('d-7'),
  metadata: jsonTextOf({}),
  expected: undefined,
  bytes: 1,
};
const FOUND = {
  rawStatus: 'SUCCESS',
  metadataJson: '{"post_id":9007199254740993}',
  result: 'approved',
  labelsJson: '[{"name":"spam","applied":false,"explanation":null}]',
};

const RECORDS: readonly (readonly [
  name: string,
  contract: OutputContract,
  record: OutgoingRecord,
])[] = [
  ['a decision', 'decision', decision.render(SOURCE, PLAIN, JOB)],
  [
    'a decision with every member',
    'decision',
    decision.render(EXTREME, EVERYTHING, { ...JOB, attempt: 2 ** 31 - 1 }),
  ],
  [
    'a decision without a batch',
    'decision',
    new DecisionWriter('events').failure(
      { ...SOURCE, ...ITEM, key: null },
      ERROR,
      { ...JOB, remoteId: '' },
      { includeContent: true },
    ),
  ],
  [
    'a receipt',
    'receipt',
    receiptOf(
      'users',
      SOURCE,
      { status: 'SUCCESS', importStatus: 'COMPLETE', error: undefined },
      JOB,
    ),
  ],
  [
    'a receipt of a failure',
    'receipt',
    receiptOf(
      'users',
      EXTREME,
      { status: 'ERROR', importStatus: null, error: ERROR },
      { ...JOB, remoteId: '' },
    ),
  ],
  [
    'a decision that was looked up',
    'looked-up-decision',
    lookedUpDecision('ids', { ...SOURCE, ...ITEM }, FOUND, undefined, JOB),
  ],
  [
    'a decision that was not found',
    'looked-up-decision',
    lookedUpDecision('ids', { ...EXTREME, ...ITEM }, undefined, ERROR, JOB),
  ],
];

/** In an order that stays; the id of a schema is its place among their schemas, from 1. */
export function writtenOutputs(): WrittenOutput[] {
  const files: string[] = [];
  return REGISTRY_FORMATS.flatMap((format) =>
    RECORDS.map(([name, contract, record]) => {
      const { file } = codecOf(contract, format);
      if (!files.includes(file)) files.push(file);
      const writer = new RegisteredFormat(contract, format, 'out-value');
      writer.writeWith(files.indexOf(file) + 1);
      const value = writer.encode(record).value as Buffer;
      return { name, format, file, json: String(record.value), value: value.toString('base64') };
    }),
  );
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(writtenOutputs())}\n`);
