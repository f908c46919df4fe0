import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Control,
  type ControlScope,
  commanded,
  type GivenCommand,
  inForce,
  MAX_CONTROLLED_TYPES,
  NO_CONTROL,
} from '../../../src/core/journal/control.ts';
import {
  readJournalRecord,
  writeAcknowledgement,
  writeControl,
} from '../../../src/core/journal/journal-records.ts';
import { JournalView } from '../../../src/core/journal/journal-view.ts';

const type = fc.oneof(
  fc.constantFrom('__proto__', 'a', 'b'),
  fc.string({ minLength: 1, maxLength: 256 }),
);
const timeMs = fc.nat(1_000);
const given: fc.Arbitrary<GivenCommand> = fc.record({
  command: fc.constantFrom('pause' as const, 'drain' as const, 'resume' as const),
  type: fc.option(type, { nil: undefined }),
  by: fc.string({ maxLength: 120 }),
  reason: fc.option(fc.string({ maxLength: 500 }), { nil: undefined }),
  untilMs: fc.option(timeMs, { nil: undefined }),
});
const history = fc.array(fc.tuple(given, timeMs), { maxLength: 12 });

const after = (commands: readonly (readonly [GivenCommand, number])[]): Control =>
  commands.reduce((control, [one, atMs]) => commanded(control, one, atMs) ?? control, NO_CONTROL);

test('what commands lead to is read as it was written', () => {
  fc.assert(
    fc.property(history, (commands) => {
      const control = after(commands);
      fc.pre(control.revision > 0);
      const { key, value } = writeControl(control);
      assert.deepEqual(readJournalRecord(key, value), { entry: 'control', value: control });
    }),
  );
});

test('a command is in force at once, changes no other scope, and a second time nothing', () => {
  fc.assert(
    fc.property(history, given, timeMs, (commands, one, nowMs) => {
      const before = after(commands);
      const next = commanded(before, one, nowMs);
      const now = inForce(next ?? before, nowMs);
      const scope = now.find((any) => any.type === one.type);
      const isOver = one.untilMs !== undefined && one.untilMs <= nowMs;
      if (one.command === 'resume') assert.equal(scope, undefined);
      else if (!isOver) assert.equal(scope?.state, one.command === 'pause' ? 'paused' : 'draining');
      const others = (scopes: readonly ControlScope[]) =>
        scopes.filter((any) => any.type !== one.type);
      if (one.command !== 'resume' || one.type !== undefined)
        assert.deepEqual(others(now), others(inForce(before, nowMs)));
      else assert.deepEqual(now, []);
      if (next === undefined) return;
      assert.equal(next.revision, Math.max(before.revision + 1, nowMs));
      if (!isOver) assert.equal(commanded(next, one, nowMs), undefined);
    }),
  );
});

test('no text of a command or an acknowledgement is more than ignored', () => {
  const text = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record(
        {
          v: fc.nat(2),
          revision: fc.oneof(fc.nat(), fc.double()),
          scopes: fc.anything(),
          types: fc.anything(),
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

test('records beyond the limits are ignored: scopes, names, size', () => {
  const scope = (name: string) => ({ type: name, state: 'paused', atMs: 1, by: 'x' }) as const;
  const read = (control: Control) => {
    const { key, value } = writeControl(control);
    return readJournalRecord(key, value).value;
  };
  const many = Array.from({ length: MAX_CONTROLLED_TYPES + 2 }, (_, n) => scope(`t${n}`));
  assert.equal(read({ revision: 1, scopes: many }), undefined);
  assert.notEqual(read({ revision: 1, scopes: many.slice(1) }), undefined);
  assert.equal(read({ revision: 1, scopes: [scope('')] }), undefined);
  assert.equal(read({ revision: 1, scopes: [scope('x'.repeat(257))] }), undefined);
  assert.equal(read({ revision: 1, scopes: [scope('a'), scope('a')] }), undefined);
  const padded = `${JSON.stringify({ v: 1, revision: 1, scopes: [] })}${' '.repeat(600_000)}`;
  assert.equal(readJournalRecord('control', padded).value, undefined);
  assert.equal(read({ revision: 0, scopes: [] }), undefined);
  const longest = [undefined, ...Array(MAX_CONTROLLED_TYPES).keys()].map((n) => ({
    ...(n !== undefined && { type: `${n}`.padEnd(256, '\0') }),
    ...{ state: 'draining' as const, atMs: 1e15, untilMs: 1e15 },
    ...{ by: '\0'.repeat(120), reason: '\0'.repeat(500) },
  }));
  assert.notEqual(read({ revision: 1, scopes: longest }), undefined);
  const full = { revision: 1, scopes: many.slice(2) };
  assert.throws(
    () =>
      commanded(
        full,
        { command: 'pause', type: 'one more', by: '', reason: undefined, untilMs: undefined },
        2,
      ),
    /resume some/,
  );
});

test('an acknowledgement is read as it was written', () => {
  const answer = fc.record(
    {
      revision: fc.nat(),
      atMs: fc.nat(),
      drained: fc.boolean(),
      types: fc.array(type, { maxLength: MAX_CONTROLLED_TYPES }),
    },
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(answer, history, (members, commands) => {
      const value = { ...members, scopes: after(commands).scopes };
      const { key, value: text } = writeAcknowledgement(value);
      assert.deepEqual(readJournalRecord(key, text), { entry: 'control/ack', value });
    }),
  );
});
