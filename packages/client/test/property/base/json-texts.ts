/** Arbitraries of valid JSON as other programs may write it: with whitespace, escapes, repeated names, numbers in any form. */
import fc from 'fast-check';

const blanks = fc.constantFrom('', '', '', ' ', '\n', '\t\r ');

/** String in JSON, with escapes that `JSON.stringify` would not write. */
export const stringText = fc
  .array(
    fc.oneof(
      fc
        .string({ unit: 'grapheme', maxLength: 4 })
        .map((text) => JSON.stringify(text).slice(1, -1)),
      fc.constantFrom('\\/', '\\u0061', '\\u00E9', '\\ud83d\\ude00', '\\udc00', '\\\\u00', '\\n'),
    ),
    { maxLength: 3 },
  )
  .map((parts) => `"${parts.join('')}"`);

export const nameText = fc.oneof(
  fc.constantFrom('"a"', '"\\u0061"', '"b"', '"1"', '"__proto__"', '"\\\\u00"', '""'),
  stringText,
);
export const numberText = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
  fc.constantFrom('-0', '1.50', '1e5', '12345678901234567890', '0.1000000000000000055', '1E400'),
);

/** Value in JSON, with whitespace, escapes and repeated names. */
export const { value: valueText, object: objectText } = fc.letrec<{
  value: string;
  object: string;
}>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    stringText,
    numberText,
    fc.constantFrom('true', 'false', 'null'),
    tie('object'),
    fc
      .tuple(fc.array(tie('value'), { maxLength: 3 }), blanks)
      .map(([items, blank]) => `[${blank}${items.join(`${blank},${blank}`)}${blank}]`),
  ),
  object: fc
    .tuple(fc.array(fc.tuple(nameText, tie('value'), blanks), { maxLength: 5 }), blanks)
    .map(
      ([members, blank]) =>
        `{${blank}${members.map(([name, value, b]) => `${b}${name}${b}:${b}${value}${b}`).join(',')}}`,
    ),
}));

/** Returns a value with all members sorted by name. */
export function canonical(value: unknown): unknown {
  const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean };
  if (typeof value !== 'object' || value === null || isRawJSON(value)) return value;
  if (Array.isArray(value)) return value.map(canonical);
  const members = Object.entries(value).map(([name, one]) => [name, canonical(one)] as const);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
