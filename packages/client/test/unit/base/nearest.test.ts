import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nearest } from '../../../src/base/nearest.ts';

const KNOWN = ['topic', 'group', 'startFrom', 'maxContent', 'maxInFlight', 'mapping', 'types'];

describe('nearest name', () => {
  it('finds what was meant by a slip, another case, dashes or underscores', () => {
    for (const [slip, meant] of [
      ['tpoic', 'topic'],
      ['topics', 'topic'],
      ['start_from', 'startFrom'],
      ['START-FROM', 'startFrom'],
      ['maxContnet', 'maxContent'],
      ['maxinflight', 'maxInFlight'],
    ] as const) {
      assert.equal(nearest(slip, KNOWN), meant);
    }
  });

  it('finds nothing for something else', () => {
    for (const other of ['zzz', '', 'x', 'completely-different'])
      assert.equal(nearest(other, KNOWN), undefined);
  });

  it('finds a name for itself, and something known or nothing for anything', () => {
    for (const name of KNOWN) assert.equal(nearest(name, KNOWN), name);
    fc.assert(
      fc.property(fc.string(), (text) => {
        const found = nearest(text, KNOWN);
        assert.ok(found === undefined || KNOWN.includes(found));
      }),
    );
  });
});
