import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headerList, headerOf, type NamedHeaders } from '../../support/records/headers.ts';
import type { ReadRecord } from '../../support/stack/topic-reader.ts';
import { Ledger } from '../harness/observe/ledger.ts';
import { Complaints } from './complaints.ts';
import { judge, liveJobKeys } from './judge.ts';
import { judgeContracts } from './judge-contracts.ts';
import { judgeQuota } from './judge-quota.ts';
import type { Ground, Produced } from './judge-records.ts';

const TIME = Date.UTC(2026, 0, 2);

const event: Produced = {
  partition: 2,
  offset: 7,
  key: Buffer.from('k'),
  value: Buffer.from('{}'),
  headers: headerList({ trace: 't', internal: 'i' }),
  timestampMs: TIME,
  metadata: { a: [1, '1', null] },
  fate: { decision: { status: 'SUCCESS', result: 'approved', type: 'post' } },
};
const poison: Produced = {
  ...event,
  offset: 8,
  value: Buffer.from('x'),
  metadata: undefined,
  fate: { deadLetter: 'not_json' },
};

const decisionValue = {
  id: 'content-2-7',
  status: 'SUCCESS',
  result: 'approved',
  metadata: { a: [1, '1', null] },
  error: null,
  batch: { id: 'b', type: 'post', attempt: 1 },
  source: {
    topic: 'content',
    partition: 2,
    offset: 7,
    key: 'k',
    timestamp: new Date(TIME).toISOString(),
  },
};

const record = (
  value: Buffer | null,
  headers: NamedHeaders,
  key = Buffer.from('k'),
): ReadRecord => ({
  topic: 'out',
  partition: 0,
  offset: 0,
  timestampMs: TIME,
  key,
  value,
  headers: headerList(headers),
});

const decision = (changes: object = {}, headers: NamedHeaders = {}): ReadRecord =>
  record(Buffer.from(JSON.stringify({ ...decisionValue, ...changes })), {
    trace: Buffer.from('t'),
    'event-id': Buffer.from('content-2-7'),
    ...headers,
  });

const letter = (value = 'x', headers: NamedHeaders = {}): ReadRecord =>
  record(Buffer.from(value), {
    trace: Buffer.from('t'),
    internal: Buffer.from('i'),
    'event-id': Buffer.from('content-2-8'),
    'dead-letter-reason': Buffer.from('not_json'),
    'dead-letter-topic': Buffer.from('content'),
    'dead-letter-partition': Buffer.from('2'),
    'dead-letter-offset': Buffer.from('8'),
    ...headers,
  });

const journal = (key: string, value: string | null) =>
  record(value === null ? null : Buffer.from(value), {}, Buffer.from(key));

interface Found extends Ground {
  readonly produced: readonly Produced[];
  readonly outputs: readonly ReadRecord[];
  readonly deadLetters: readonly ReadRecord[];
  readonly journal: readonly ReadRecord[];
  readonly committed: number;
}

function complaintsOn(found: Found): string[] {
  const ledger = new Ledger();
  for (const { partition, offset } of found.produced) ledger.produced(partition, offset);
  for (const { value } of found.outputs) {
    const { source } = JSON.parse(String(value));
    ledger.terminal(source.partition, source.offset, 0);
  }
  for (const one of found.deadLetters)
    ledger.terminal(2, Number(headerOf(one, 'dead-letter-offset')), 0);
  const verdict = new Complaints();
  const group = [{ partition: 2, committed: found.committed, end: 9 }];
  judge({ ...found, ground: found, ledger }, { live: liveJobKeys(found.journal), group }, verdict);
  return verdict.list();
}

const kept: Found = {
  sourceTopic: 'content',
  produced: [event, poison],
  returnedHeaders: ['trace'],
  outputs: [decision()],
  deadLetters: [letter()],
  journal: [
    journal('job/a', '{}'),
    journal('job/a/left', '{}'),
    journal('job/a', null),
    journal('job/a/left', null),
  ],
  committed: 9,
};

test('the judge accepts correct results', () => {
  assert.deepEqual(complaintsOn(kept), []);
});

const broken: readonly [what: string, evidence: Partial<Found>, complaint: RegExp][] = [
  [
    'a second decision',
    { outputs: [decision(), decision()] },
    /^2:7#0: has a terminal record: twice/,
  ],
  ['a missing decision', { outputs: [] }, /^2:7: has no terminal record/],
  ['a missing dead letter', { deadLetters: [] }, /^2:8: has no terminal record/],
  [
    'a decision for an aborted record',
    { produced: [poison] },
    /^2:7 .there is no committed record.: .*not due/,
  ],
  [
    'a decision for poison',
    { produced: [{ ...event, fate: poison.fate }, poison] },
    /instead of a dead letter/,
  ],
  [
    'a dead letter for content',
    { produced: [event, { ...poison, fate: event.fate }] },
    /instead of a decision/,
  ],
  [
    'another result',
    { outputs: [decision({ result: 'rejected' })] },
    /^2:7 \({"status":"SUCCESS","result":"rejected"} for {"status":"SUCCESS","result":"approved"}, batch b, attempt 1\): .*wrong result$/,
  ],
  ['another key', { produced: [{ ...event, key: null }, poison] }, /wrong key/],
  [
    'an extra header',
    { outputs: [decision({}, { internal: 'i' })] },
    /decision with the wrong headers/,
  ],
  ['a changed dead letter', { deadLetters: [letter('y')] }, /dead letter with the wrong value/],
  [
    'another event id of a dead letter',
    { deadLetters: [letter('x', { 'event-id': 'content-2-7#1' })] },
    /wrong event id/,
  ],
  [
    'a missing header of a dead letter',
    { deadLetters: [letter('x', { internal: 'j' })] },
    /dead letter with the wrong headers/,
  ],
  ['a live job', { journal: kept.journal.slice(0, 3) }, /^job\/a\/left: is still live/],
  ['a group that has not committed the end', { committed: 8 }, /^partition 2 \(8 of 9\)/],
];

for (const [what, evidence, complaint] of broken) {
  test(`the judge reports ${what}`, () => {
    const complaints = complaintsOn({ ...kept, ...evidence });
    assert.equal(complaints.length, 1, complaints.join('\n'));
    assert.match(complaints[0] as string, complaint);
  });
}

/** Records to import and to look up. The service has one of the decisions. */
const receipt: Produced = {
  ...event,
  metadata: undefined,
  fate: { receipt: { type: 'user', data: { n: 7 } } },
};
const made = { status: 'SUCCESS', result: 'approved', labels: [], metadata: { n: 7 } } as const;
const known: Produced = { ...receipt, fate: { lookup: { id: 'd-7', decision: made } } };
const unknown: Produced = { ...receipt, fate: { lookup: { id: 'd-7', decision: undefined } } };
const { id, source } = decisionValue;
const receiptValue = {
  id,
  status: 'SUCCESS',
  import_id: 'i',
  import_status: 'COMPLETE',
  attempt: 1,
  error: null,
  source,
};
const foundValue = {
  id,
  ...made,
  decision_id: 'd-7',
  decision_status: 'SUCCESS',
  error: null,
  source,
};
const unknownValue = {
  ...foundValue,
  ...{
    status: 'ERROR',
    decision_status: null,
    result: null,
    metadata: {},
    error: { code: 'decision_unknown', message: 'no' },
  },
};

const output = (value: object): ReadRecord =>
  record(Buffer.from(JSON.stringify(value)), {
    trace: Buffer.from('t'),
    'event-id': Buffer.from(id),
  });
const imported = {
  ...kept,
  deadLetters: [],
  produced: [receipt],
  isImported: (importId: string) => importId === 'i',
};

test('the judge accepts correct receipts and looked-up decisions', () => {
  for (const [event, value] of [
    [receipt, receiptValue],
    [known, foundValue],
    [unknown, unknownValue],
  ] as const)
    assert.deepEqual(
      complaintsOn({ ...imported, produced: [event], outputs: [output(value)] }),
      [],
    );
});

const WRONG_PARTS: readonly [event: Produced, value: object, part: string, changed: unknown][] = [
  [event, decisionValue, 'status', 'ERROR'],
  [event, decisionValue, 'error', {}],
  [event, decisionValue, 'metadata', { a: ['1', '1', null] }],
  [event, decisionValue, 'id', 'content-2-6#1'],
  [event, decisionValue, 'batch', { type: 'comment' }],
  [receipt, receiptValue, 'import_id', 'j'],
  [receipt, receiptValue, 'import_status', 'IN_PROGRESS'],
  [receipt, receiptValue, 'status', 'ERROR'],
  [known, foundValue, 'decision_status', 'PENDING'],
  [known, foundValue, 'decision_id', 'd-8'],
  [known, foundValue, 'metadata', { n: '7' }],
  [unknown, unknownValue, 'error', { code: 'review_timeout' }],
];
/** Names of wrong parts in complaints, if they differ from the member's name. */
const NAMED: Readonly<Record<string, string>> = { batch: 'type', import_id: 'import' };

for (const [event, value, part, changed] of WRONG_PARTS)
  test(`the judge reports a wrong ${part}: ${JSON.stringify(changed)}`, () => {
    const outputs = [output({ ...value, [part]: changed })];
    const [complaint = '', ...more] = complaintsOn({ ...imported, produced: [event], outputs });
    assert.match(complaint, new RegExp(`wrong ${NAMED[part] ?? part}\\b`));
    assert.deepEqual(more, []);
  });

test('the judge reports terminal records that violate their contract', () => {
  const whole = {
    ...decisionValue,
    expected_result: null,
    labels: [],
    decided_at: new Date(TIME).toISOString(),
  };
  const about = { 'dead-letter-message': 'the value is not JSON', 'dead-letter-stage': 'decode' };
  const fitting = new Complaints();
  judgeContracts([decision(whole)], [letter('x', about)], fitting);
  assert.deepEqual(fitting.list(), []);
  const unfit = new Complaints();
  judgeContracts(
    [decision({ ...whole, decided_at: 'now' })],
    [letter('x', { ...about, 'dead-letter-offset': '-1' })],
    unfit,
  );
  assert.equal(unfit.list().length, 2);
  assert.match(
    unfit.list().join(),
    /decision\.schema\.json: \/decided_at.*dead-letter\.schema\.json: \/dead-letter-offset/,
  );
});

test('the judge reports a minute with more rows than the quota plus one batch per shard, and a quota that is not used up', () => {
  const startMs = Date.UTC(2026, 0, 1);
  const at = (second: number, rows: number) => ({
    uploaded: new Date(startMs + 1_000 * second).toISOString(),
    rows,
  });
  const about = { quota: 100, shards: 2, hadWorkMs: startMs + 185_000 };
  const regular = [0, 61, 122].flatMap((second) => [at(second, 50), at(second + 1, 50)]);
  const unsent = { uploaded: null, rows: 0 };
  assert.deepEqual(judgeQuota([...regular, unsent], about).complaints, []);
  const more = judgeQuota([...regular, at(60.5, 50), at(60.9, 51), at(62, 50)], about);
  assert.deepEqual(more.complaints, ['a minute had 251 rows, more than 202']);
  const fewer = judgeQuota([at(0, 50), at(70, 94), at(130, 94)], about);
  assert.deepEqual(fewer.complaints, ['only 94.0 % of the quota was used while there was work']);
});
