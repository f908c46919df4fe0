/** Schemas whose check of a value may take longer than a pass over it. */

/** References: a schema that is recursive by them tries its alternatives at each level of a value. */
const REFERENCES = new Set(['$ref', '$dynamicRef', '$recursiveRef']);

/** Whether a hostile value could make the check long. Says yes in vain, never no in vain. */
export function mayRunLong(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.entries(schema).some(([name, member]: [string, unknown]) => {
    if (REFERENCES.has(name)) return true;
    if (name === 'pattern' && typeof member === 'string' && !isLinear(member)) return true;
    if (name === 'patternProperties' && !Object.keys(Object(member)).every(isLinear)) return true;
    return mayRunLong(member);
  });
}

const ESCAPES_AND_CLASSES = /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|.)|\[(?:\\.|[^\]\\])*\]/gsu;
const QUANTIFIERS = /[*+?]|\{\d+(?:,\d*)?\}/g;
const MOST_WAYS = 16;
const MOST_TIMES = 100;

/**
 * Whether a pattern takes time in proportion to a text: anchored at its beginning, without groups and alternatives, with one quantifier
 * without an end at most, and few ways to divide a text among the others.
 */
function isLinear(pattern: string): boolean {
  const bare = pattern.replace(ESCAPES_AND_CLASSES, 'x');
  if (!/^\^[^()|]*$/.test(bare)) return false;
  let endless = 0;
  let ways = 1;
  for (const [quantifier] of bare.matchAll(QUANTIFIERS)) {
    const [, least, comma, most] = /^\{(\d+)(,?)(\d*)\}$/.exec(quantifier) ?? [];
    if (Number(least ?? 0) > MOST_TIMES) return false;
    if (quantifier === '?') ways *= 2;
    else if (least === undefined || (comma === ',' && most === '')) endless++;
    else if (comma === ',') ways *= Number(most) - Number(least) + 1;
  }
  return endless <= 1 && ways <= MOST_WAYS;
}
