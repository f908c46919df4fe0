import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { expiryOf } from '../../../src/kafka/security/jwt.ts';

const part = (text: string) => Buffer.from(text).toString('base64url');

test('the expiry of a JWT is its claim exp, and anything else has no expiry', () => {
  fc.assert(
    fc.property(fc.json(), fc.double(), (claims, exp) => {
      const { exp: stated } = Object(JSON.parse(claims));
      const expected = typeof stated === 'number' ? stated * 1_000 : undefined;
      assert.equal(expiryOf(`${part('{}')}.${part(claims)}.`), expected);
      const finite = Number.isFinite(exp) ? Number(JSON.stringify(exp)) * 1_000 : undefined;
      assert.equal(expiryOf(`a.${part(JSON.stringify({ exp }))}.c`), finite);
      assert.equal(expiryOf(`a.${part('{"exp":1e999}')}.c`), undefined);
    }),
  );
});
