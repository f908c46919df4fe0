import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Control,
  commanded,
  type GivenCommand,
  NO_CONTROL,
} from '../../../src/core/journal/control.ts';
import {
  readJournalRecord,
  writeAcknowledgement,
  writeControl,
} from '../../../src/core/journal/journal-records.ts';
import { JournalView } from '../../../src/core/journal/journal-view.ts';

const timeMs = fc.nat(1_000);
const given: fc.Arbitrary<GivenCommand> = fc.record({
  command: fc.constantFrom('pause' as const, 'drain' as const, 'resume' as const),
  by: fc.string({ maxLength: 120 }),
  reason: fc.option(fc.string({ maxLength: 500 }), { nil: undefined }),
});
const history = fc.array(fc.tuple(given, timeMs), { maxLength: 12 });

const after = (commands: readonly (readonly [GivenCommand, number])[]): Control =>
  commands.reduce((control, [one, atMs]) => commanded(control, one, atMs) ?? control, NO_CONTROL);

test('the state after any commands is read as it was written', () => {
  fc.assert(
    fc.property(history, (commands) => {
      const control = after(commands);
      fc.pre(control.revision > 0);
      const { key, value } = writeControl(control);
      assert.deepEqual(readJournalRecord(key, value), { entry: 'control', value: control });
    }),
  );
});

test('a command takes effect at once, and repeating it changes nothing', () => {
  fc.assert(
    fc.property(history, given, timeMs, (commands, one, nowMs) => {
      const before = after(commands);
      const next = commanded(before, one, nowMs);
      const states = { pause: 'paused', drain: 'draining', resume: undefined };
      assert.equal((next ?? before).hold?.state, states[one.command]);
      if (next === undefined) return;
      assert.equal(next.revision, Math.max(before.revision + 1, nowMs));
      assert.equal(commanded(next, one, nowMs), undefined);
    }),
  );
});

test('invalid values of commands and acknowledgements are ignored', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record(
        {
          v: fc.nat(2),
          revision: fc.oneof(fc.nat(), fc.double()),
          hold: fc.anything(),
          drained: fc.anything(),
          atMs: fc.nat(),
        },
        { requiredKeys: [] },
      )
      .map((value) => JSON.stringify(value)),
  );
  fc.assert(
    fc.property(
      fc.constantFrom('control', 'control/ack'),
      fc.option(text),
      history,
      (key, value, commands) => {
        const view = new JournalView();
        const control = after(commands);
        const written = writeControl(control);
        view.fold(written.key, written.value);
        const { value: read } = view.fold(key, value);
        if (read === undefined || key !== 'control') assert.deepEqual(view.control, control);
        view.finish();
      },
    ),
  );
});

test('records beyond the limits are ignored: names, reasons, size', () => {
  const read = (hold: object, revision = 1) => {
    const value = JSON.stringify({ v: 1, revision, hold });
    return readJournalRecord('control', value).value;
  };
  const hold = { state: 'draining', atMs: 1e15, by: '\0'.repeat(120), reason: '\0'.repeat(500) };
  assert.notEqual(read(hold), undefined);
  assert.equal(read({ ...hold, by: 'x'.repeat(121) }), undefined);
  assert.equal(read({ ...hold, reason: 'x'.repeat(501) }), undefined);
  assert.equal(read({ ...hold, by: { length: { toString: 1 } } }), undefined);
  assert.equal(read({ ...hold, state: 'stopped' }), undefined);
  assert.equal(read(hold, 0), undefined);
  const padded = `${JSON.stringify({ v: 1, revision: 1 })}${' '.repeat(20_000)}`;
  assert.equal(readJournalRecord('control', padded).value, undefined);
});

test('an acknowledgement is read as it was written', () => {
  const answer = fc.record(
    { revision: fc.nat(), atMs: fc.nat(), drained: fc.boolean() },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(answer, history, (members, commands) => {
      const { hold } = after(commands);
      const value = { ...members, ...(hold !== undefined && { hold }) };
      const { key, value: text } = writeAcknowledgement(value);
      assert.deepEqual(readJournalRecord(key, text), { entry: 'control/ack', value });
    }),
  );
});
