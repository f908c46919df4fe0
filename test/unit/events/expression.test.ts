import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_VALUES } from '../../../src/base/json/parse-json.ts';
import {
  compileExpression,
  EvaluationProblem,
  EventInput,
  expressionProblem,
} from '../../../src/events/expression/index.ts';
import { compileType } from '../../../src/events/mapping/type-mapping.ts';
import { headerList } from '../../support/records/headers.ts';
import { found, inputOf } from './event-input.ts';

const DIGITS = '12345678901234567890';
const input = inputOf(
  `{"a":{"b":[3,20,1]},"one":1,"n":1.0,"zero":-0,"id":${DIGITS},"ids":[${DIGITS},12345678901234567891],"huge":1e400,` +
    '"list":[{"k":"b","v":2},{"k":"a","v":10}],"__proto__":{"x":1},"s":" \\n x\\u0085 ","empty":"","groups":[{"g":"__proto__"},{"g":"constructor"}]}',
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
const fails = (cases: Readonly<Record<string, RegExp>>) => {
  for (const [expression, message] of Object.entries(cases)) {
    assert.throws(
      () => found(expression, input),
      (error) => error instanceof EvaluationProblem && message.test(error.message),
      expression,
    );
  }
};

test('every mistake in an expression is reported with its place before a record comes', () => {
  const problems: Readonly<Record<string, RegExp | undefined>> = {
    'a..b': /^column 3: \. is not expected here$/,
    '': /^column 1: it ends too early$/,
    'foo(': /^column 5: it ends too early$/,
    'a)': /^column 2: \) is not expected here$/,
    '{a b}': /^column 4: b is not expected here, but :$/,
    'length(a, b)': /^length\(\) takes 1 argument, but has 2$/,
    'lenght(a)': /^there is no function lenght\(\); did you mean length\(\)\?$/,
    'toString()': /^there is no function toString\(\)/,
    'user-id': /^column 1: user-id would be user minus id; put a name in quotes, "user-id"/,
    "type = 'x'": /^column 6: = compares nothing; write ==$/,
    "a == 'abc": /^column 6: a text begins here and has no end$/,
    '"abc': /^column 1: a name in quotes begins here/,
    'a == `1': /^column 6: a literal begins here/,
    'a\\.b': /^column 2: a name with a dot.* is put in quotes: "a\.b"\.c/,
    ключ: /^column 1: "к" is not allowed here; a name with anything but .* is put in quotes/,
    'id == `12345678901234567890`': /^column 7: a number has more digits/,
    'map(a, b)': /argument 1 of map\(\) is an expression: write & before it/,
    'length(&a)': /argument 1 of length\(\) is a value: leave out the &/,
    '&a': /& stands only before an argument/,
    $x: /there is no variable \$x/,
    'let $x = a in $y': /there is no variable \$y/,
    'a[::0]': /step of a slice/,
    'header("x")': /header\(\) takes a name in single quotes/,
    [`${'!'.repeat(200)}a`]: /nested deeper than 100 levels/,
    [`a || ${'b'.repeat(5000)}`]: /5005 characters/,
    'a - b': undefined,
    "'it\\'s'": undefined,
    'let $x = a in map(&[$x, @], b)': undefined,
    'sort_by(a, &b)[0].c || `{"a": "="}`': undefined,
  };
  for (const [expression, problem] of Object.entries(problems)) {
    if (problem === undefined) assert.equal(expressionProblem(expression), undefined, expression);
    else assert.match(expressionProblem(expression) ?? '', problem, expression);
    if (problem !== undefined) assert.throws(() => compileExpression(expression), RangeError);
  }
});

test('a text or literal without its end is reported without trying every way to read its backslashes', () => {
  // A further backslash took one and a half times as long: 45 of them many seconds.
  const began = performance.now();
  for (const [quote, kind] of Object.entries({ "'": 'a text', '`': 'a literal' }))
    assert.equal(
      expressionProblem(`a == ${quote}${'\\'.repeat(45)}${quote}`),
      `column 6: ${kind} begins here and has no end`,
    );
  assert.ok(performance.now() - began < 2_000);
});

test('a mistake at the end of the longest expressions is found at once', {
  timeout: 10_000,
}, () => {
  for (const [expression, problem] of [
    ['['.repeat(4_000), /^it is nested deeper than 100 levels$/],
    ['('.repeat(4_000), /^it is nested deeper than 100 levels$/],
    ['!'.repeat(4_000), /^it is nested deeper than 100 levels$/],
    [`${'('.repeat(1_900)}a${')'.repeat(1_901)}`, /^column 3802: \) is not expected here$/],
    [`${'a.'.repeat(2_000)}a]`, /^column 4002: \] is not expected here$/],
    [`join(${'a,'.repeat(1_500)}|)`, /^column 3006: \| is not expected here$/],
    ['{a:'.repeat(1_300), /^column 3901: it ends too early$/],
    ['a[?'.repeat(1_300), /^column 3901: it ends too early$/],
  ] as const)
    assert.match(expressionProblem(expression) ?? '', problem);
});

test('inherited members are not visible, and __proto__ is a name like any other', () => {
  gives({
    'constructor.name': undefined,
    'constructor.name || `0`': '0',
    'a.b.length': undefined,
    '(a.b).length': 'null',
    '"__proto__".x': '1',
    '{"__proto__": one}': '{"__proto__":1}',
    'merge({a: one}, {"__proto__": one})': '{"a":1,"__proto__":1}',
    'group_by(groups, &g)': '{"__proto__":[{"g":"__proto__"}],"constructor":[{"g":"constructor"}]}',
  });
});

test('numbers that a double cannot hold are selected, compared and written with all of their digits', () => {
  gives({
    id: DIGITS,
    '{x: {y: id}}': `{"x":{"y":${DIGITS}}}`,
    'ids[?@ == $.id]': `[${DIGITS}]`,
    'ids[?@ != $.id]': '[12345678901234567891]',
    'ids[?@ > $.id]': '[12345678901234567891]',
    'huge > id && id > `1` && -one < id': 'true',
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
  });
});

test('numbers keep their text, and are calculated with as what they are', () => {
  gives({ 'n == one': 'true', 'to_string(n)': '"1.0"', 'n + one': '2', 'sum([n, one])': '2' });
});

test('a decimal keeps its scale when it is selected and converted, and is a plain number in comparisons and arithmetic', () => {
  const event = '{"price":10.00,"prices":[10.00,2.50],"huge":1e400}';
  const input = inputOf(event);
  const expected = {
    price: '10.00',
    '@': '{"price":10.00,"prices":[10.00,2.50],"huge":1e400}',
    '{x: price}': '{"x":10.00}',
    'not_null(none, price)': '10.00',
    'to_string(price)': '"10.00"',
    'price == `10`': 'true',
    'price > `9.5` && price <= prices[0]': 'true',
    'prices[?@ == `2.5`]': '[2.50]',
    'contains(prices, `10`)': 'true',
    'price + `1`': '11',
    '-price': '-10',
    'sum(prices)': '12.5',
    'sort(prices)': '[2.5,10]',
    'max(prices)': '10',
    'floor(prices[1])': '2',
    'sort_by(prices, &@)': '[2.50,10.00]',
  };
  for (const [expression, result] of Object.entries(expected))
    assert.equal(found(expression, input), result, expression);
  assert.throws(
    () => found('sum([price, huge])', input),
    /sum\(\) was given a number with more digits/,
  );
  const own = new EventInput('events');
  const typeOf = compileType({ field: 'price', map: { 10: 'ten' } }, undefined, own);
  input.begin(own);
  assert.equal(typeOf(false), 'ten');
});

test('arithmetic with exact numbers is refused, and so is a result that is not a number of JSON', () => {
  fails({
    'id + `1`': /more digits than can be calculated with/,
    '-id': /more digits/,
    'sum(ids)': /sum\(\) was given a number with more digits/,
    'sort(ids)': /sort\(\)/,
    'abs(id)': /abs\(\)/,
    'keys(id)': /keys\(\) was given a number/,
    'sort_by(ids, &@)': /to order by/,
    'one / `0`': /divide by zero/,
    'one % `0`': /too large for a number, or none/,
    '`1e308` * `10`': /too large for a number, or none/,
    'length(missing)': /expected argument 1 .* received type null instead$/,
  });
});

test('functions follow the language where the library does not', () => {
  gives({
    'sort(a.b)': '[1,3,20]',
    'max_by(list, &k).v': '2',
    'min_by(list, &k).v': '10',
    'sort_by(list, &v)[].k': '["b","a"]',
    'max(a.b)': '20',
    'min([`"b"`, `"a"`])': '"a"',
    'max(`[]`)': 'null',
    "contains(list, {k: 'a', v: `10`})": 'true',
    "to_number('')": 'null',
    'trim(s)': '"x"',
    "trim_left('xxaxx', 'x')": '"axx"',
    "trim_right('xxaxx', 'x')": '"xxa"',
    "replace('aaa', 'a', 'b', `2`)": '"bba"',
    "pad_left('7', `3`, '0')": '"007"',
    'let $f = one in map(&[$f, k], list)': '[[1,"b"],[1,"a"]]',
    'let $f = one in let $g = $f in $g': '1',
  });
});

test('functions give access to the record around the value', () => {
  gives({
    "header('a')": '"x"',
    "header('twice')": '"2"',
    "header('bytes')": 'null',
    "header('gone')": 'null',
    "header('toString')": 'null',
    'key()': '"k"',
    '[topic(), partition(), offset()]': '["events",1,7]',
    'timestamp()': '"1970-01-01T00:00:01.000Z"',
  });
  const without = inputOf('{}', { key: Buffer.from([255]), timestampMs: -1 });
  assert.equal(found('[key(), timestamp()]', without), '[null,null]');
});

test('every evaluation ends, whatever record and expression are', {
  timeout: 30_000,
}, () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  // Each differs from the others in its last entry alone.
  const alike = (last: number) =>
    Array.from({ length: 1_200 }, () => [...Array.from({ length: 70 }, () => 1), last]);
  const lists = JSON.stringify({
    items: Array.from({ length: 20_000 }, (_, id) => ({ id })),
    alike: alike(1),
    others: alike(2),
  });
  const json = JSON.stringify({
    items: Array.from({ length: 20_000 }, (_, id) => ({ id })),
    text: `${' '.repeat(300_000)}x`,
    object: members(100_000),
    some: members(2_000),
    sought: `${' '.repeat(50_000)}x${' '.repeat(50_000)}`,
  });
  const many = () => inputOf(json);
  for (const [expression, message, headers] of [
    ['merge(object, object, object, object, object)', /takes too long/],
    [
      `{${Array.from({ length: 100 }, (_, n) => `k${n}: merge(some)`).join(', ')}}`,
      /takes too long/,
    ],
    ['let $others = others in alike[?contains($others, @)]', /takes too long/],
    ['let $one = alike, $two = alike[*] in items[?$one == $two]', /takes too long/],
    ['contains(text, sought)', /takes too long/],
    ["replace(text, sought, '')", /takes too long/],
    [
      "items[].header('x')",
      /takes too long/,
      Array.from({ length: 200 }, () => ['y', ''] as const),
    ],
    ['items[?contains($.items[].id, id)]', /takes too long/],
    ['items[].to_string($)', /takes too long/],
    [`to_string(@${' | [@, @]'.repeat(40)})`, /text of more than/],
    ['items[].[$.items[], $.text[::2]]', /takes too long/],
    ["pad_left('a', `1000000000`)", /text of more than/],
    ['join(text, items[].to_string(id))', /text of more than/],
    ["replace(text, ' ', text)", /text of more than/],
    ["replace('a', 'a', 'b', `1e9`)", /a count must be/],
  ] as const) {
    assert.throws(
      () => {
        const text = expression.includes('alike') ? lists : json;
        found(expression, headers === undefined ? inputOf(text) : inputOf(text, { headers }));
      },
      (error) => error instanceof EvaluationProblem && message.test(error.message),
      expression,
    );
  }
  // The library's own takes minutes over these blanks.
  assert.equal(found('trim(text)', many()), '"x"');
  assert.equal(found('length(trim_right(text))', many()), '300001');
});

test('the expressions for one record share a budget, and each record has a new one', () => {
  const json = JSON.stringify({ items: Array.from({ length: 100_000 }, (_, n) => n) });
  const one = inputOf(json);
  const rounds = Array.from({ length: 100 }, () => one).findIndex((input) => {
    try {
      found('length(items[?@ > `1`])', input);
      return false;
    } catch (error) {
      return error instanceof EvaluationProblem && /2000000 steps together/.test(error.message);
    }
  });
  assert.ok(rounds > 0 && rounds < 10, `${rounds}`);
  assert.equal(found('length(items[?@ > `1`])', inputOf(json)), '99998');
});

test('texts are in the order of their code points, long ones alike at the beginning too', () => {
  const start = 'x'.repeat(1_000);
  const list = Array.from(
    { length: 1_000 },
    (_, n) => start + String.fromCodePoint(0xe000 + ((n * 79) % 1_000) * 50),
  );
  const byCodePoints = (one: string, two: string) =>
    (one.codePointAt(1_000) as number) - (two.codePointAt(1_000) as number);
  assert.equal(
    found('sort(list)', inputOf(JSON.stringify({ list }))),
    JSON.stringify([...list].sort(byCodePoints)),
  );
  const halves = ['\ud83d', '\ud83d\ude00', '\ud83d\ue000', '\ue000', ''];
  const expected = ['', '\ud83d', '\ud83d\ue000', '\ue000', '\ud83d\ude00'];
  assert.equal(
    found('sort(list)', inputOf(JSON.stringify({ list: halves }))),
    JSON.stringify(expected),
  );
});

test('nesting is evaluated to the depth that an event may have', () => {
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
  const event = inputOf(`{"one":1,"deep":${deep(990)},"other":${deep(990)}}`);
  assert.equal(found('one || two', event), '1');
  assert.equal(found('deep == other', event), 'true');
  assert.equal(found('contains([deep], other)', event), 'true');
});

test('an event of more values than an expression may cost is refused before it is parsed', () => {
  const event = (count: number) => inputOf(`{"one":1,"list":[${'{},'.repeat(count)}0]}`);
  assert.equal(found('one || two', event(MAX_VALUES - 10)), '1');
  assert.throws(
    () => found('one || two', event(MAX_VALUES)),
    (error) => error instanceof EvaluationProblem && error.reason === 'too_large',
  );
});

test('members named like the elements of a list take no more memory than others', () => {
  const list = Array.from({ length: 20_000 }, () => ['900', 1]);
  const event = inputOf(JSON.stringify({ list }));
  const before = process.memoryUsage().heapUsed;
  const result = found('map(&from_items([@]), list)', event) ?? '';
  assert.equal(result.length, 20_000 * 10 + 1);
  // A list with room for 900 others takes over 7,000 bytes.
  assert.ok(process.memoryUsage().heapUsed - before < 60_000_000);
});
