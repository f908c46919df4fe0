import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BatchTypes } from '../../../../src/kinds/review/index.ts';

/** Batches in a row that a service with its own name for a type costs. */
const IN_A_ROW = 3;

const poll = fc.record({
  id: fc.constantFrom(...'12345678'),
  sent: fc.constantFrom('post', 'comment'),
  reported: fc.constantFrom('post', 'comment', ' POST', 'entry', 'other', undefined),
});
const fold = (name: string) => name.trim().toLowerCase();

test('a batch under another name is foreign, unless it was reported as sent, or three others of its type are foreign since another was', () => {
  const seen = { foreign: 0, own: 0, renamed: 0 };
  fc.assert(
    // Long, so that types are renamed in any run.
    fc.property(fc.array(poll, { minLength: 40, maxLength: 80 }), (polls) => {
      const types = new BatchTypes();
      const own = new Set<string>();
      const inARow = new Map<string, Set<string>>();
      for (const { id, sent, reported } of polls) {
        const isForeign = types.isForeign(id, sent, reported);
        if (reported === undefined) {
          assert.equal(isForeign, false);
          continue;
        }
        const others = inARow.get(sent) ?? new Set();
        inARow.set(sent, others);
        if (fold(reported) === fold(sent)) {
          assert.equal(isForeign, false);
          own.add(`${sent} ${id}`);
          others.clear();
        } else if (isForeign) {
          seen.foreign++;
          assert.ok(!own.has(`${sent} ${id}`), 'a batch of this job');
          others.add(id);
          assert.ok(others.size <= IN_A_ROW, 'resubmitted permanently');
        } else if (own.has(`${sent} ${id}`)) seen.own++;
        else {
          seen.renamed++;
          assert.ok(others.size === IN_A_ROW && !others.has(id), 'accepted against evidence');
        }
      }
    }),
  );
  for (const [what, times] of Object.entries(seen)) assert.ok(times > 0, what);
});

test('a service that names types at random completes every job within four batches of it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(fc.constantFrom('post', 'comment', 'entry', undefined), { minLength: 1 }), {
        minLength: 4,
        maxLength: 30,
      }),
      (batches) => {
        const types = new BatchTypes();
        // One job after the other; each batch is polled until it is foreign or complete.
        let foreign = 0;
        for (const [id, answers] of batches.entries()) {
          const given = answers.some((reported) => types.isForeign(String(id), 'post', reported));
          foreign = given ? foreign + 1 : 0;
          assert.ok(foreign <= 3);
        }
      },
    ),
  );
});
