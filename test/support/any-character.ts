import fc from 'fast-check';

/** Range of the surrogate code points, which are not characters. */
const SURROGATES = { from: 0xd800, count: 0x800 };

/**
 * Arbitrary of one character, for the `unit` of `fc.string`. The library's `unit: 'binary'` generates the same
 * characters, but builds a table of a million of them, which takes a second in each process.
 */
export const anyCharacter = fc.nat(0x10ffff - SURROGATES.count).map(
  (n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count),
  (character) => {
    const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
    if (code === undefined || String.fromCodePoint(code) !== character)
      throw new TypeError('not one character');
    if (code < SURROGATES.from) return code;
    if (code < SURROGATES.from + SURROGATES.count) throw new TypeError('half a character');
    return code - SURROGATES.count;
  },
);
