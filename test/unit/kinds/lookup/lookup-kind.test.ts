import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOfString } from '../../../../packages/client/src/base/json/json-text.ts';
import {
  ServiceError,
  type ServiceFailure,
} from '../../../../packages/client/src/base/service-error.ts';
import type { ItemRow } from '../../../../src/core/bytes/result-slice.ts';
import type {
  JobContext,
  PerItemKind,
  RemoteStatus,
} from '../../../../src/core/ports/pipeline-kind.ts';
import type { ContentItem } from '../../../../src/core/record.ts';
import { Grace, type LookupOptions, lookupKind } from '../../../../src/kinds/lookup/index.ts';
import type { FoundDecision } from '../../../../src/kinds/service-ports.ts';
import { assertContract } from '../../../support/contracts.ts';
import { contentItem, JOB, SIGNAL, sourceRecord } from '../review/sample.ts';

const FINISHED: RemoteStatus = { state: 'finished', rawState: 'FINISHED' };
const DECISION: FoundDecision = {
  rawStatus: 'SUCCESS',
  metadataJson: '{"post":12345678901234567890}',
  result: 'approved',
  labelsJson: '[{"name":"spam","applied":false,"explanation":"no sign","score":0.10}]',
};

type Answer = Partial<FoundDecision> | ServiceFailure | ServiceError;

function kindOf(answers: Record<string, Answer> = {}, over: Partial<LookupOptions> = {}) {
  let ids = 0;
  const options: LookupOptions = {
    topic: 'lookups',
    decisionId: undefined,
    headers: [],
    nullValues: 'dead-letter',
    graceMs: 1_000,
    onFailure: 'error',
    monotonic: () => 0,
    newId: () => `id-${++ids}`,
    ...over,
  };
  return lookupKind(options, {
    getDecision: async (id) => {
      const answer = answers[id] ?? assert.fail(`${id} was not scripted`);
      if (typeof answer === 'string')
        throw new ServiceError(answer, 'scripted', { operation: 'get_decision' });
      if (answer instanceof ServiceError) throw answer;
      return { ...DECISION, ...answer };
    },
  });
}

function decoded(value: unknown, over: Partial<LookupOptions> = {}) {
  const result = kindOf({}, over).decode(sourceRecord(value), 0);
  return 'poison' in result
    ? result.poison.reason
    : 'skip' in result
      ? result.skip
      : textOfString(result.item.content);
}

const itemOf = (id: string, offset: number): ContentItem =>
  contentItem({ content: id, offset, type: 'lookup' });

/** Returns the outcomes of these ids by offset, and the error that ended the run early. */
async function outcomesOf(
  answers: Record<string, Answer>,
  over: Partial<LookupOptions> = {},
  {
    kind = kindOf(answers, over),
    job = JOB,
    last = false,
  }: { readonly kind?: PerItemKind; readonly job?: JobContext; readonly last?: boolean } = {},
) {
  const items = Object.keys(answers).map(itemOf);
  const outcomes: ItemRow[] = [];
  let error: unknown;
  try {
    for await (const some of kind.outcomes(items, FINISHED, () => job, SIGNAL, last))
      outcomes.push(...some);
  } catch (reason) {
    error = reason;
  }
  const values = outcomes.map((one) =>
    'record' in one ? JSON.parse(String(one.record.value)) : one.poison,
  );
  return { offsets: outcomes.map(({ offset }) => offset), values, outcomes, error };
}

const check = (value: unknown) => assertContract('looked-up-decision', value);

test('an id is the whole value or a field of the event', () => {
  assert.deepEqual([decoded(' d-1\n'), decoded('a/b?c')], ['d-1', 'a/b?c']);
  assert.equal(decoded({ ref: { id: 'd-2' } }, { decisionId: 'ref.id' }), 'd-2');
});

test('an invalid id becomes a dead letter whose reason does not show it', () => {
  const plain = [null, Buffer.from([0xff]), ' ', '..', 'a\u0000b', 'x'.repeat(2_000)].map((value) =>
    decoded(value),
  );
  assert.deepEqual(plain, [
    'null_value',
    'no_content',
    'empty_content',
    'no_content',
    'no_content',
    'too_large',
  ]);
  const field = { decisionId: 'id' };
  assert.deepEqual(
    ['no json', [1], {}, { id: 7 }, { id: '' }].map((value) => decoded(value, field)),
    ['not_json', 'not_an_object', 'no_content', 'no_content', 'empty_content'],
  );
  assert.equal(decoded(null, { nullValues: 'skip' }), 'null_value');
  const result = kindOf({}, field).decode(sourceRecord({ id: ['SECRET'] }), 0);
  assert.ok('poison' in result && !result.poison.message.includes('SECRET'));
});

test('decisions are published with all data that the service returns, and pending decisions are left out', async () => {
  const { offsets, values, outcomes } = await outcomesOf({
    a: {},
    b: { rawStatus: 'PENDING', result: null, labelsJson: null },
    c: { rawStatus: 'ERROR', result: null, labelsJson: null },
    d: { rawStatus: 'RESTING' },
  });
  assert.deepEqual(offsets, [0, 2]);
  for (const value of values) check(value);
  const { source, ...found } = values[0];
  assert.deepEqual(found, {
    id: 'lookups-3-0',
    status: 'SUCCESS',
    decision_id: 'a',
    decision_status: 'SUCCESS',
    result: 'approved',
    labels: JSON.parse(DECISION.labelsJson ?? ''),
    metadata: JSON.parse(DECISION.metadataJson),
    error: null,
    decided_at: '2026-01-02T03:04:05.678Z',
  });
  assert.equal(source.topic, 'lookups');
  const [first] = outcomes;
  assert.ok(
    first !== undefined &&
      'record' in first &&
      String(first.record.value).includes('"post":12345678901234567890'),
  );
  assert.ok(String(first.record.value).includes('"score":0.10'), 'labels keep their digits too');
  assert.deepEqual(
    [values[1].status, values[1].error.code, values[1].labels],
    ['ERROR', 'review_failed', []],
  );
});

/** Returns a function that looks up the ids at a time, in milliseconds since the job was created. */
function rounds(answers: Record<string, Answer>, over: Partial<LookupOptions> = {}) {
  let nowMs = 0;
  const kind = kindOf(answers, { ...over, monotonic: () => nowMs });
  return (ms: number) => {
    nowMs = ms;
    return outcomesOf(answers, over, { kind });
  };
}

test('no id is given up while the service cannot find an earlier decision either', async () => {
  for (const [failure, status] of [
    ['not_found', 404],
    ['rejected', 400],
  ] as const) {
    const lost = new ServiceError(failure, `responded with ${status}`, {
      operation: 'get_decision',
      status,
    });
    const answers: Record<string, Answer> = { known: {}, a: lost };
    let nowMs = 0;
    const kind = kindOf(answers, { monotonic: () => nowMs });
    const ask = (id: string, ms: number) => {
      nowMs = ms;
      return outcomesOf({ [id]: answers[id] ?? {} }, {}, { kind });
    };
    assert.deepEqual((await ask('known', 0)).offsets, [0]);
    answers.known = lost;
    const waiting = [
      await ask('a', 500),
      await ask('a', 1_600),
      await ask('a', 5_000),
      await ask('a', 9_000),
    ];
    assert.deepEqual(
      waiting.map(({ offsets, error }) => [offsets, error === undefined]),
      [
        [[], true],
        [[], false],
        [[], true],
        [[], false],
      ],
    );
    assert.match(String(waiting[1]?.error), /The service returned that decision before/);
    answers.known = {};
    const last = [await ask('a', 11_000), await ask('a', 12_100)];
    assert.deepEqual(
      last.map(({ offsets }) => offsets),
      [[], [0]],
    );
  }
});

test('a refusal with a status that does not concern the id gives up no id', async () => {
  const told: string[] = [];
  for (const status of [402, 405, 406, 415, 426]) {
    const refusal = new ServiceError('rejected', `responded with ${status}`, {
      operation: 'get_decision',
      status,
    });
    const ask = rounds({ a: refusal }, { onBadAnswer: (message) => told.push(message) });
    for (const ms of [0, 5_000]) assert.deepEqual((await ask(ms)).offsets, []);
    assert.equal((await ask(10_000)).error, refusal);
  }
  assert.equal(told[1], 'responded with 405');
});

test('a temporary 404 or refusal gives up no id, however old the lookup is', async () => {
  const answers: Record<string, Answer> = { a: 'rejected' };
  const ask = rounds(answers);
  const hours = 7_200_000;
  assert.deepEqual((await ask(hours)).values, []);
  answers.a = { rawStatus: 'PENDING' };
  await ask(hours + 500);
  answers.a = 'not_found';
  assert.deepEqual(
    (await ask(hours + 1_200)).values,
    [],
    'the service found the decision in between',
  );
  answers.a = {};
  assert.deepEqual((await ask(hours + 1_300)).values[0].status, 'SUCCESS');
});

test('with more unknown ids than are remembered, none is given up before its grace period is over', () => {
  const grace = new Grace(1_000, 2);
  const over = (nowMs: number) => ['a', 'b', 'c'].filter((place) => grace.isOver(place, nowMs));
  assert.deepEqual([over(500), over(1_499)], [[], []]);
  assert.deepEqual([over(1_500), over(2_499), over(2_500)], [['a', 'b'], [], ['c']]);
});

/** Returns responses for `count` ids, with failures by index. */
const idsOf = (count: number, failing: Record<number, ServiceFailure>): Record<string, Answer> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${n}`, failing[n] ?? {}]));

test('an id that cannot be looked up does not block others, and its failure is thrown at the end', async () => {
  const { offsets, error } = await outcomesOf(idsOf(40, { 3: 'unauthorized', 20: 'protocol' }));
  assert.ok(error instanceof ServiceError && error.failure === 'unauthorized');
  assert.deepEqual(
    offsets,
    Array.from({ length: 40 }, (_, n) => n).filter((n) => n !== 3 && n !== 20),
  );
});

test('an id that could not be looked up gets a record with status ERROR', async () => {
  const value = JSON.parse(
    String(
      kindOf().failure(itemOf('a', 0), { code: 'review_timeout', message: 'too long' }, JOB).value,
    ),
  );
  check(value);
  assert.deepEqual(
    [value.status, value.decision_id, value.error.code],
    ['ERROR', 'a', 'review_timeout'],
  );
});
