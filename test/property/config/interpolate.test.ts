import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { stringify } from 'yaml';
import { interpolateText } from '../../../src/config/load/interpolate.ts';
import { ConfigError } from '../../../src/config/load/problem.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { anyCharacter } from '../../support/any-character.ts';

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,11}$/);
const hostile = fc.string({
  unit: fc.constantFrom('$', '{', '}', ':', '-', 'A', ' ', '\n', '"', '#', '\\'),
  maxLength: 20,
});
const reference = (variable: string, fallback?: string) =>
  `$${'{'}${variable}${fallback === undefined ? '' : `:-${fallback}`}}`;

describe('interpolation', () => {
  it('returns any string whose references are escaped', () => {
    fc.assert(
      fc.property(hostile, (text) =>
        assert.deepEqual(
          interpolateText(
            text.replaceAll('${', () => '$${'),
            {},
          ),
          { text },
        ),
      ),
    );
  });

  it('inserts the value of a variable exactly, without interpolating it again', () => {
    fc.assert(
      fc.property(
        name,
        hostile,
        fc.string({ unit: fc.constantFrom('a', ' ', '}', '{') }),
        (variable, value, around) => {
          fc.pre(value !== '');
          assert.deepEqual(
            interpolateText(`${around}${reference(variable)}${around}`, { [variable]: value }),
            {
              text: `${around}${value}${around}`,
            },
          );
        },
      ),
    );
  });

  it('uses the default only for a missing or empty variable', () => {
    const fallback = fc.string({ unit: fc.constantFrom('a', ':', '-', '$', ' ') });
    fc.assert(
      fc.property(name, fallback, (variable, text) => {
        assert.deepEqual(interpolateText(reference(variable, text), {}), { text });
        assert.deepEqual(interpolateText(reference(variable, text), { [variable]: '' }), { text });
        assert.deepEqual(interpolateText(reference(variable, text), { [variable]: 'set' }), {
          text: 'set',
        });
      }),
    );
  });

  it('reports a missing variable by name and a malformed reference with the remedy', () => {
    assert.match(
      JSON.stringify(interpolateText(reference('KEY'), {})),
      /environment variable KEY is not set/,
    );
    assert.match(
      JSON.stringify(interpolateText(`user:${reference('KEY')}`, { KEY: '' })),
      /environment variable KEY is empty; set it, or write/,
    );
    assert.deepEqual(interpolateText(reference('KEY', ''), { KEY: '' }), { text: '' });
    for (const text of ['${', `$${'{'}1A}`, `$${'{'}}`, `$${'{'}A`, `$${'{'}A-b}`]) {
      assert.match(
        JSON.stringify(interpolateText(text, { A: 'a' })),
        /not a reference to a variable/,
      );
    }
    assert.match(JSON.stringify(interpolateText(reference('toString'), {})), /toString is not set/);
  });
});

describe('any document', () => {
  it('is a configuration or a ConfigError with at least one problem, never another failure', () => {
    const keys = fc.constantFrom(
      'kafka',
      'brokers',
      'service',
      'baseUrl',
      'apiKey',
      'pipelines',
      'source',
      'topic',
      'batch',
      'maxAge',
      'http',
      'port',
      '__proto__',
      'x',
    );
    const document = fc.object({
      key: keys,
      maxDepth: 4,
      values: [fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant('5s')],
    });
    fc.assert(
      fc.property(
        fc.oneof(
          document.map((value) => stringify(value)),
          fc.string({ unit: anyCharacter }),
        ),
        (text) => {
          try {
            parseConfig(text, {}, { file: 'c.yaml', directory: '/' });
          } catch (error) {
            assert.ok(error instanceof ConfigError, String(error));
            assert.ok(error.problems.length > 0);
          }
        },
      ),
    );
  });
});
