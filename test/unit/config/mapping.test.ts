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

  for (const [what, source, problem] of [
    [
      'a misspelled option with the value null',
      'mapping: {type: {field: a, othrewise: null}}',
      /mapping\.type: .*othrewise is unknown; did you mean otherwise\?/,
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
      'a type that is not a text',
      'mapping: {type: {field: a, map: {1: 2}}}',
      /map: 1: put quotes around it: "2"/,
    ],
    [
      'a filter with a single equals sign',
      `filter: "a = 'b'"`,
      /source\.filter: .*column 3: = does not compare; write ==/,
    ],
    [
      'a filter that is not a text',
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
