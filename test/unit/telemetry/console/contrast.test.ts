/** The colours of the page against WCAG 2.2: 4.5 for text, 3 for what is drawn. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const CSS = readFileSync(
  new URL('../../../../src/telemetry/console/page/console.css', import.meta.url),
  'utf8',
);
const TEXT = 4.5;
const DRAWN = 3;
const GROUNDS = ['page', 'surface'];
const PAIRS: readonly [colour: string, grounds: readonly string[], least: number][] = [
  ['ink', [...GROUNDS, 'warn-tint', 'bad-tint'], TEXT],
  ['muted', [...GROUNDS, 'warn-tint', 'bad-tint'], TEXT],
  ['accent', GROUNDS, TEXT],
  ['warn', GROUNDS, TEXT],
  ['bad', GROUNDS, TEXT],
  ['good', ['page'], DRAWN],
];

const TOKEN = /--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g;
const tokens = [...CSS.matchAll(TOKEN)];

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

for (const [at, scheme] of [
  [2, 'light'],
  [3, 'dark'],
] as const) {
  const colours = new Map(tokens.map((token) => [token[1], token[at]]));
  test(`colours can be told apart, ${scheme}`, () => {
    for (const [name, grounds, least] of PAIRS) {
      for (const ground of grounds) {
        const [colour, behind] = [colours.get(name), colours.get(ground)];
        assert.ok(colour !== undefined && behind !== undefined, `${name} on ${ground}`);
        assert.ok(
          contrast(colour, behind) >= least,
          `${name} on ${ground}: ${contrast(colour, behind).toFixed(2)}`,
        );
      }
    }
  });
}

test('colours are named in one place alone', () => {
  const rules = CSS.slice(CSS.indexOf('* {'));
  assert.deepEqual(rules.match(/#[0-9a-f]{3,8}\b(?!-)|\brgba?\(/gi) ?? [], []);
});
