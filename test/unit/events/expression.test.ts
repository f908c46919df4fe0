import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_VALUES } from '../../../packages/client/src/base/json/parse-json.ts';
import {
  compileExpression,
  EvaluationProblem,
  EventInput,
  expressionProblem,
} from '../../../src/events/expression/index.ts';
import { compileType } from '../../../src/events/type-mapping.ts';
import { headerList } from '../../support/records/headers.ts';
import { found, inputOf } from './event-input.ts';

const DIGITS = '12345678901234567890';
const input = inputOf(
  `{"a":{"b":[3,20,1]},"one":1,"n":1.0,"zero":-0,"id":${DIGITS},"ids":[${DIGITS},12345678901234567891],"huge":1e400,` +
    '"prices":[10.00,2.50],"list":[{"k":"b","v":2},{"k":"a","v":10}],"__proto__":{"x":1},"own":{"__proto__":1},"s":" \\n x ","empty":""}',
  {
    headers: headerList({
      a: 'x',
      twice: [Buffer.from('1'), null, Buffer.from('2')],
      bytes: Buffer.from([255]),
      gone: ['1', null],
    }),
  },
);

const gives = (cases: Readonly<Record<string, string | undefined>>) => {
  for (const [expression, expected] of Object.entries(cases))
    assert.equal(found(expression, input), expected, expression);
};
test('every mistake in an expression is reported with its position before the first record', () => {
  const problems: Readonly<Record<string, RegExp | undefined>> = {
    'a..b': /^column 3: unexpected token: \.\(Dot\)$/,
    '': /^column 1: it ends too early$/,
    'foo(': /^column 5: it ends too early$/,
    'a)': /^column 2: unexpected token type: Rparen, value: \)$/,
    '{a b}': /^column 4: expected Colon/,
    'a == 5': /^column 6: /,
    'length(a, b)': /^length\(\) takes 1 arguments, but has 2$/,
    'merge()': /^merge\(\) takes 1 or more arguments, but has 0$/,
    'lenght(a)': /^there is no function lenght\(\); see the functions of JMESPath$/,
    'toString()': /^there is no function toString\(\)/,
    'user-id':
      /^column 5: arithmetic is not supported; put a name with a dash in quotes, "user-id"/,
    'a * b': /^arithmetic is not supported$/,
    "type = 'x'": /^column 6: = does not compare; write ==$/,
    '"abc': /^column 1: /,
    'a\\.b': /^column 2: unknown character: \\$/,
    ключ: /^column 1: unknown character: к$/,
    'length(&a)': /expression references \(&\) are not supported/,
    'sort_by(a, &b)': /there is no function sort_by\(\)/,
    'let $x = a in $x': /^column 5: variables are not supported$/,
    'a[::0]': /step of a slice/,
    'header("x")': /header\(\) takes a name in single quotes/,
    [`${'!'.repeat(200)}a`]: /nested deeper than 100 levels/,
    [`a || ${'b'.repeat(5000)}`]: /5005 characters/,
    "'it\\'s'": undefined,
    'a[0].c || `{"a": "=", "type": "Function"}`': undefined,
  };
  for (const [expression, problem] of Object.entries(problems)) {
    if (problem === undefined) assert.equal(expressionProblem(expression), undefined, expression);
    else assert.match(expressionProblem(expression) ?? '', problem, expression);
    if (problem !== undefined) assert.throws(() => compileExpression(expression), RangeError);
  }
});

test('inherited members are not visible, and __proto__ is an ordinary name', () => {
  gives({
    'constructor.name': undefined,
    'constructor.name || `0`': '0',
    'a.b.length': undefined,
    '(a.b).length': 'null',
    '"__proto__".x': '1',
    'merge({a: one}, own)': '{"a":1,"__proto__":1}',
  });
});

test('numbers keep their digits when selected, and are doubles when compared', () => {
  gives({
    id: DIGITS,
    '{x: {y: id}}': `{"x":{"y":${DIGITS}}}`,
    'ids[?@ == $.id]': `[${DIGITS},12345678901234567891]`,
    'huge > id && id > `1`': 'true',
    'contains(ids, id)': 'true',
    'contains(ids, one)': 'false',
    'to_string(id)': `"${DIGITS}"`,
    "to_number('12345678901234567891')": '12345678901234567891',
    'type(id)': '"number"',
    'zero == `0`': 'true',
    '[zero]': '[-0]',
    'id.rawJSON': undefined,
    '(id).rawJSON': 'null',
    'id.*': 'null',
    'n == one': 'true',
    'to_string(n)': '"1.0"',
    'not_null(none, n)': '1.0',
    'prices[?@ == `2.5`]': '[2.50]',
    'contains(prices, `10`)': 'true',
  });
  const own = new EventInput();
  const typeOf = compileType({ field: 'price', map: { 10: 'ten' } }, undefined, own);
  inputOf('{"price":10.00}').begin(own);
  assert.equal(typeOf(false), 'ten');
});

test('functions follow the specification where the library does not', () => {
  gives({
    "to_number('')": 'null',
    'trim(s)': '"x"',
    "replace('aaa', 'a', '$&b')": '"$&b$&b$&b"',
    "split('a,b', ',')": '["a","b"]',
    "length('\ud83d\ude00')": '1',
  });
});

test('every evaluation ends, whatever the record and the expression', {
  timeout: 20_000,
}, () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  const json = JSON.stringify({
    items: Array.from({ length: 20_000 }, (_, id) => ({ id })),
    text: `${' '.repeat(300_000)}x`,
    some: members(2_000),
    sought: `${' '.repeat(50_000)}x${' '.repeat(50_000)}`,
  });
  const withObject = `{"object":${JSON.stringify(members(100_000))},${json.slice(1)}`;
  for (const [expression, message, headers = [], key = 'k'] of [
    ['merge(object, object, object, object, object)', /takes too long/],
    [
      `{${Array.from({ length: 100 }, (_, n) => `k${n}: merge(some)`).join(', ')}}`,
      /takes too long/,
    ],
    ['items[?$.items == $.items[*]]', /takes too long/],
    ['items[?$.object == $.some]', /takes too long/],
    ['items[?$.some == $.object]', /takes too long/],
    ['contains(items[].[$.text][], sought)', /takes too long/],
    ['items[].key()', /takes too long/, [], 'k'.repeat(1_000_000)],
    ['contains(text, sought)', /takes too long/],
    ["replace(text, sought, '')", /takes too long/],
    [
      "items[].header('x')",
      /takes too long/,
      Array.from({ length: 200 }, () => ['y', ''] as const),
    ],
    ['items[?contains($.items[].id, id)]', /takes too long/],
    ['items[].to_string($)', /takes too long/],
    [`to_string(@${' | [@, @]'.repeat(40)})`, /string of more than/],
    ['items[].[$.items[], $.text[::2]]', /takes too long/],
    ['join(text, items[].to_string(id))', /string of more than/],
    ["replace(text, ' ', text)", /string of more than/],
  ] as const) {
    assert.throws(
      () => {
        const event = /\bobject\b/.test(expression) ? withObject : json;
        found(expression, inputOf(event, { headers, key: Buffer.from(key) }));
      },
      (error) => error instanceof EvaluationProblem && message.test(error.message),
      expression,
    );
  }
  // The library's own trim function would take minutes for these blanks.
  assert.equal(found('trim(text)', inputOf(json)), '"x"');
});

test('the expressions for one record share a budget, and each record has its own', () => {
  const json = JSON.stringify({ items: Array.from({ length: 100_000 }, (_, n) => n) });
  const one = inputOf(json);
  const rounds = Array.from({ length: 100 }, () => one).findIndex((input) => {
    try {
      found('length(items[?@ > `1`])', input);
      return false;
    } catch (error) {
      return error instanceof EvaluationProblem && /2000000 steps/.test(error.message);
    }
  });
  assert.ok(rounds > 0 && rounds < 10, `${rounds}`);
  assert.equal(found('length(items[?@ > `1`])', inputOf(json)), '99998');
});

test('expressions are evaluated at any depth that an event may have', () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const event = inputOf(`{"one":1,"deep":${deep(990)},"other":${deep(990)}}`);
  assert.equal(found('one || two', event), '1');
  assert.equal(found('deep == other', event), 'true');
});

test('an event with more values than an expression may process is refused before it is parsed', () => {
  const event = (count: number) => inputOf(`{"one":1,"list":[${'{},'.repeat(count)}0]}`);
  assert.equal(found('one || two', event(MAX_VALUES - 10)), '1');
  assert.throws(
    () => found('one || two', event(MAX_VALUES)),
    (error) => error instanceof EvaluationProblem && error.reason === 'too_large',
  );
});
