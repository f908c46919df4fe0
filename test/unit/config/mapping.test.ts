import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effectiveOptions } from '../../../src/config/effective.ts';
import { MINIMAL, parse, problemsOf } from './problems-of.ts';

const withSource = (source: string) =>
  MINIMAL.replace('{topic: events}', `{topic: events, ${source}}`);
const sourceOf = (source: string) => parse(withSource(source)).pipelines[0]?.source;

describe('the mapping in a configuration', () => {
  it('accepts expressions, type maps and a filter', () => {
    const source = sourceOf(
      `filter: "kind == 'x'", mapping: {content: 'post."a.b"', type: {field: kind, map: {1: comment, true: post}, otherwise: o}, metadata: '{"a b": x.y}'}`,
    );
    assert.equal(source?.filter, "kind == 'x'");
    assert.equal(source?.mapping.content, 'post."a.b"');
    assert.deepEqual(source?.mapping.type, {
      field: 'kind',
      map: { 1: 'comment', true: 'post' },
      otherwise: 'o',
    });
    assert.equal(source?.mapping.metadata, '{"a b": x.y}');
    assert.equal(sourceOf('maxInFlight: 1000')?.filter, undefined);
  });

  it('shows the effective mapping in the form of the file', () => {
    const shown = new Map(
      effectiveOptions(parse(withSource('mapping: {type: {field: k, map: {1: a}}}'))).map(
        ({ path, value }) => [path.replace('pipelines[0].source.', ''), value],
      ),
    );
    assert.equal(shown.get('mapping.type'), '{"field":"k","map":{"1":"a"}}');
    assert.equal(shown.get('filter'), 'none');
  });

  it('accepts a sample as a percentage, and shows it as one', () => {
    const samples = ['1 %', '1%', '" 12.5 % "', '0.000001 %', '100 %'];
    assert.deepEqual(
      samples.map((text) => sourceOf(`sample: ${text}`)?.sample),
      [1, 1, 12.5, 0.000001, 100],
    );
    assert.equal(sourceOf('maxInFlight: 1000')?.sample, 100);
    const [shown] = effectiveOptions(parse(withSource('sample: 12.50%'))).filter(
      ({ path }) => path === 'pipelines[0].source.sample',
    );
    assert.equal(shown?.value, '12.5 %');
  });

  for (const [what, source, problem] of [
    ...['0 %', '100.1 %', '-1 %', '1 % %', '1e1 %', '1', 'half', '0.0000001 %', '[1 %]'].map(
      (sample) =>
        [
          `the sample ${sample}`,
          `sample: "${sample}"`,
          /^pipelines\[0\]\.source\.sample: .* is not allowed; expected a percentage up to 100 %, such as 1 %/,
        ] as const,
    ),
    ['a sample without its unit', 'sample: 0.5', /source\.sample: 0\.5 .*write 0\.5 %/],
    [
      'a misspelled option with the value null',
      'mapping: {type: {field: a, othrewise: null}}',
      /mapping\.type: .*othrewise is unknown; known: .*otherwise/,
    ],
    [
      'a syntax error in a type',
      'mapping: {type: {field: "a."}}',
      /mapping\.type: .*field: column 3: it ends too early/,
    ],
    [
      'a map without field',
      'mapping: {type: {constant: a, map: {1: b}}}',
      /map and otherwise require field/,
    ],
    [
      'otherwise without map',
      'mapping: {type: {field: a, otherwise: b}}',
      /otherwise requires map/,
    ],
    [
      'a type that is not a string',
      'mapping: {type: {field: a, map: {1: 2}}}',
      /map: 1: put quotes around it: "2"/,
    ],
    [
      'a filter with a single equals sign',
      `filter: "a = 'b'"`,
      /source\.filter: .*column 3: = does not compare; write ==/,
    ],
    [
      'a filter that is not a string',
      'filter: true',
      /source\.filter: true is not allowed; expected none, or a JMESPath expression/,
    ],
  ] as const) {
    it(`is refused with ${what}`, () => {
      const problems = problemsOf(withSource(source));
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems[0] ?? '', problem);
    });
  }
});
