/**
 * Numbers as exact decimals, which distinguish numbers that are equal as doubles. Shares no code with the code under
 * test.
 */

/** Parses a document with every number as its decimal. */
export function decimals(text: string): { readonly metadata: unknown } {
  const withSource = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ) => never;
  return withSource(text, (_key, value, context) =>
    typeof value === 'number' ? { decimal: decimalOf(context.source ?? '') } : value,
  );
}

export function decimalOf(literal: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(literal) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return `${sign}0`;
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
