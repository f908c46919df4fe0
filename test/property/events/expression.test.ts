import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { evaluator } from '../../../src/events/expression/evaluator.ts';
import {
  compileExpression,
  EvaluationProblem,
  expressionProblem,
} from '../../../src/events/expression/index.ts';
import { parsePath } from '../../../src/events/expression/input.ts';
import { parseExpression } from '../../../src/events/expression/syntax.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { found, foundAt, inputOf } from '../../unit/events/event-input.ts';
import { hostileKey, metadataText } from '../kinds/review/hostile.ts';

/** Names of steps, some of which occur in the documents below. */
const name = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'a',
      'b',
      'a.b',
      'length',
      '__proto__',
      'constructor',
      '0',
      'rawJSON',
    ),
  },
  hostileKey,
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: 'medium' },
    fc.constantFrom(null, true, 0, 1.5, '', 'x', []),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .array(fc.tuple(name, tie('value')), { maxLength: 4 })
      .map((members) => Object.fromEntries(members)),
  ),
}));
const document = fc
  .array(fc.tuple(name, value), { maxLength: 4 })
  .map((members): object => Object.fromEntries(members));
const path = fc.array(
  name.filter((step) => step !== ''),
  { minLength: 1, maxLength: 4 },
);

/** Returns a path as written in a configuration, with quotes where necessary and sometimes elsewhere. */
const written = (steps: readonly string[], quoted: boolean) =>
  steps
    .map((step) => (!quoted && /^[A-Za-z_][A-Za-z0-9_]*$/.test(step) ? step : JSON.stringify(step)))
    .join('.');

test('the fast evaluation of a plain path gives the same result as the interpreter', () => {
  fc.assert(
    fc.property(document, path, fc.boolean(), (json, steps, quoted) => {
      const text = written(steps, quoted);
      const parsed = parsePath(text);
      // A path with U+FFFD or surrogates is not plain, because the scanner cannot distinguish such names.
      const isPlain = !/[\ufffd\p{Surrogate}]/u.test(steps.join());
      assert.deepEqual(parsed, isPlain ? steps : undefined);
      if (!isPlain) return;
      const node = parseExpression(text);
      assert.ok(node.ok);
      const { input, begin } = inputOf(JSON.stringify(json));
      const wanted = JSON.stringify(evaluator.evaluate(node.value, input));
      assert.equal(foundAt(steps, begin) ?? 'null', wanted);
    }),
    { numRuns: 600 },
  );
});

const PARTS = [
  ...[
    'a',
    'b',
    '"a.b"',
    '@',
    '$',
    '*',
    '.',
    '[',
    ']',
    '[]',
    '[0]',
    '[-1]',
    '[::2]',
    '[?',
    '{',
    '}',
    '(',
    ')',
    ':',
    ',',
    '|',
    '||',
    '&&',
    '!',
    '&',
  ],
  ...[
    '==',
    '<',
    '>=',
    '+',
    '-',
    '*',
    '/',
    '%',
    '?',
    "'x'",
    '`1`',
    '`[1,{"a":2}]`',
    '`null`',
    '`1e400`',
    ' ',
    'split(',
  ],
  ...[
    'length(',
    'split(',
    'merge(',
    'to_string(',
    'join(',
    'contains(',
    'keys(',
    "header('h')",
    'key()',
    'type(',
  ],
];

test('any string is an expression or is refused, and an expression gives a result or a reason for any document', () => {
  const whole = fc.constantFrom(
    ...[
      'a.b[?a > b].a',
      'keys(a)',
      'merge(@, a)',
      'a[*].b | [0]',
      '*.a',
      'to_string(@)',
      'a[].[@, $]',
    ],
    ...['to_array(a)', 'a[::-1]', 'join(a, keys(@))', 'values(@)', 'a == b'],
  );
  const expression = fc.oneof(
    { weight: 3, arbitrary: whole },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.constantFrom(...PARTS), { maxLength: 10 })
        .map((parts) => parts.join('')),
    },
    { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
  );
  fc.assert(
    fc.property(expression, metadataText, document, (text, hostile, json) => {
      if (expressionProblem(text) !== undefined) {
        assert.throws(() => compileExpression(text), RangeError);
        return;
      }
      for (const source of [hostile, JSON.stringify(json)]) {
        try {
          // The result must be valid JSON: no NaN, function or inherited member.
          const result = found(text, inputOf(source));
          if (result !== undefined) JSON.parse(result);
        } catch (error) {
          assert.ok(error instanceof EvaluationProblem, String(error));
        }
      }
    }),
    { numRuns: 500 },
  );
});
