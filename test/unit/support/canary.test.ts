import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOf, assertSilent, CANARY, plant, secretIn } from '../../support/stack/canary.ts';

test('a canary is found as it is, in pieces, and in every way that it may be written', () => {
  for (const secret of Object.values(CANARY)) {
    for (const form of [
      secret,
      ...Array.from({ length: secret.length - 15 }, (_, at) => secret.slice(at, at + 16)),
      encodeURIComponent(secret),
      Buffer.from(`me:${secret}`).toString('base64'),
      Buffer.from(secret).toString('hex'),
      JSON.stringify({ a: secret }),
    ]) {
      assert.notEqual(secretIn(`before ${form} after`), undefined, form);
    }
  }
  assert.notEqual(secretIn('https://a.example/x?X-Amz-Signature=1'), undefined);
  assert.notEqual(secretIn('/x?a=1&sig=abc'), undefined);
  assert.notEqual(secretIn('the sentence of today', ['sentence']), undefined);
  for (const plain of [
    'upload at a.example/x answered 403',
    'the key is not accepted',
    '/x?sig=[redacted]',
  ]) {
    assert.equal(secretIn(plain), undefined, plain);
  }
});

test('what was planted is found, what is too short to be told from other words is not', () => {
  plant('a text that somebody posted');
  plant('text 0');
  assert.notEqual(secretIn('{"msg":"a text that somebody posted"}'), undefined);
  assert.equal(secretIn('text 0'), undefined);
});

test('an error is looked through to the last cause, its hidden members included', () => {
  const hidden = Object.defineProperty(new Error('plain'), 'request', {
    value: { headers: [CANARY.key] },
    enumerable: false,
  });
  const deep = new Error('outer', {
    cause: new AggregateError([new Error(`inner ${CANARY.content}`)], 'all'),
  });
  for (const error of [
    hidden,
    deep,
    Object.assign(new Error('x'), { url: `https://a/?sig=${CANARY.signature}` }),
  ]) {
    assert.throws(() => assertSilent(allOf(error), 'it'), /is in it/);
  }
  assertSilent(allOf(new Error('plain', { cause: new Error('plain') })), 'it');
});
