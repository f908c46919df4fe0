import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeFor, type PolicyInput, parsePolicy } from '../../src/policy.ts';

const HEADER = ['lang', 'Content', 'shop'];

function judge(review: PolicyInput['review'], type = 'comment') {
  const verdict = judgeFor(parsePolicy({ review }).review, type, HEADER, 1);
  return (content: string, lang = 'en', shop = '') => verdict([lang, content, shop]);
}

test('metadata must be equal in every column named; numbers and booleans are compared as the CSV spells them', () => {
  const ask = judge({
    default: 'ok',
    rules: [{ when: { metadata: { lang: 'de', shop: 7 } }, result: 'bad' }],
  });
  assert.equal(ask('x', 'de', '7').result, 'bad');
  assert.equal(ask('x', 'de', '07').result, 'ok');
  assert.equal(ask('x', 'en', '7').result, 'ok');
  const elsewhere = judge({
    default: 'ok',
    rules: [{ when: { metadata: { absent: '' } }, result: 'bad' }],
  });
  assert.equal(elsewhere('x').result, 'ok');
});

test('the first matching rule with a result decides, before any score', () => {
  const ask = judge({
    thresholds: [{ score: 1, result: 'scored' }],
    rules: [
      { when: { contains: 'a' }, score: 5 },
      { when: { contains: 'b' }, result: 'first' },
      { when: { contains: 'b' }, result: 'second' },
    ],
  });
  assert.equal(ask('ab').result, 'first');
  assert.equal(ask('a').result, 'scored');
});

test('scores add up, and the highest threshold reached decides, however the thresholds are ordered', () => {
  const ask = judge({
    default: 'none',
    thresholds: [
      { score: 2, result: 'some' },
      { score: 4, result: 'much' },
    ],
    rules: ['a', 'b', 'c'].map((contains, index) => ({
      when: { contains },
      score: index === 2 ? -1 : 2,
    })),
  });
  assert.deepEqual(
    ['x', 'a', 'ab', 'abc', 'ac'].map((text) => ask(text).result),
    ['none', 'some', 'much', 'some', 'none'],
  );
});
