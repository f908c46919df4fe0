import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse, problemsOf } from './problems-of.ts';

const KINDS = ['review', 'import', 'lookup'] as const;
/** Options with a fragment that sets each one, and the kinds that use it. */
const OWN: readonly (readonly [string, string, readonly (typeof KINDS)[number][]])[] = [
  ['source.types', 'source: {topic: events, types: [post]}', ['review', 'import']],
  ['source.mapping.content', 'source: {topic: events, mapping: {content: body}}', ['review']],
  [
    'source.mapping.type',
    'source: {topic: events, mapping: {type: {constant: post}}}',
    ['review', 'import'],
  ],
  ['source.mapping.data', 'source: {topic: events, mapping: {data: row}}', ['import']],
  [
    'source.mapping.decisionId',
    'source: {topic: events, mapping: {decisionId: {field: id}}}',
    ['lookup'],
  ],
  ['source.mapping.metadata', 'source: {topic: events, mapping: {metadata: about}}', ['review']],
  [
    'source.mapping.expectedResult',
    'source: {topic: events, mapping: {expectedResult: wanted}}',
    ['review'],
  ],
  ['review.columns', 'source: {topic: events}, review: {columns: [lang]}', ['review']],
  ['review.resultColumn', 'source: {topic: events}, review: {resultColumn: Decision}', ['review']],
  ['output.includeContent', 'source: {topic: events}, output: {includeContent: true}', ['review']],
];

const withPipeline = (kind: string, rest: string) => `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: key-1}
pipelines: [{name: posts, kind: ${kind}, ${rest}}]
`;

describe('options of one kind of pipeline', () => {
  it('have valid defaults for every kind', () => {
    for (const kind of KINDS)
      assert.equal(parse(withPipeline(kind, 'source: {topic: events}')).pipelines[0]?.kind, kind);
  });

  for (const [option, rest, kinds] of OWN) {
    it(`such as ${option} are refused for another kind`, () => {
      for (const kind of KINDS) {
        const text = withPipeline(kind, rest);
        if (kinds.includes(kind)) assert.equal(parse(text).pipelines.length, 1);
        else
          assert.deepEqual(problemsOf(text), [
            `pipelines[0].${option}: has no effect while kind is ${kind}: remove it, or set kind to ${kinds.join(' or ')}`,
          ]);
      }
    });
  }

  it('are not reported if the kind is unknown', () => {
    const problems = problemsOf(
      withPipeline('lookups', 'source: {topic: events, mapping: {content: body}}'),
    );
    assert.deepEqual(
      problems.map((problem) => problem.split(':')[0]),
      ['pipelines[0].kind'],
    );
  });
});
