import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../../test/support/any-character.ts';
import { shownCode } from '../../../src/base/shown-text.ts';
import { scrub, shownAddress } from '../../../src/http/redaction.ts';

/** Keys in the form that services generate: printable, without spaces. */
const keys = fc.stringMatching(/^[\x21-\x7e]{8,80}$/);

/** True if the text contains any six consecutive characters of the secret. */
function leaks(text: string, secret: string): boolean {
  const haystack = text.replaceAll('[redacted]', ' ').toLowerCase();
  for (let at = 0; at + 6 <= secret.length; at++)
    if (haystack.includes(secret.slice(at, at + 6).toLowerCase())) return true;
  return false;
}

test('no six consecutive characters of a key survive scrubbing, in any place and any case', () => {
  fc.assert(
    fc.property(
      keys,
      fc.string(),
      fc.string(),
      fc.nat(),
      fc.boolean(),
      (key, before, after, cut, upper) => {
        const part = key.slice(cut % (key.length - 6));
        const text = scrub(`${before}${upper ? part.toUpperCase() : part}${after}`, [key]);
        assert.ok(!leaks(text, key), text);
      },
    ),
  );
});

test('scrubbed text is one line of at most 200 characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 4000 }), keys, (text, key) => {
      const shown = scrub(text, [key]);
      assert.ok(shown.length <= 200);
      assert.ok(!/[\p{Cc}]/u.test(shown));
    }),
  );
});

test('bearer credentials and queries of addresses are masked, even if they are not the client’s own', () => {
  assert.equal(scrub('got Bearer abc.def for it', []), 'got Bearer [redacted] for it');
  assert.equal(
    scrub('see https://s3.example/x?X-Amz-Signature=abc&y=1 now', []),
    'see https://s3.example/x?[redacted] now',
  );
});

test('an address is shown as host and path only', () => {
  assert.equal(
    shownAddress(new URL('https://user:pass@host.example:8443/a/b?sig=x#frag')),
    'host.example:8443/a/b',
  );
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (text) => {
      assert.ok(
        !/[?#@]/.test(
          shownAddress(new URL(text))
            .replace(/^[^/]*/, '')
            .replaceAll('@', ''),
        ),
      );
      assert.ok(shownAddress(new URL(text)).length < 500);
    }),
  );
});

test('only text in the form of a code is shown', () => {
  assert.equal(shownCode('AccessDenied'), 'AccessDenied');
  for (const raw of ['', 'two words', '<xml>', 'a'.repeat(65), '9lives', 42, null, undefined, {}]) {
    assert.equal(shownCode(raw), undefined);
  }
});
