/** Conformance suite for schema registries. Runs against a real registry and the one in memory. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  type NewSchema,
  RegistryRefused,
  type SchemaRegistry,
} from '../../src/events/registry/index.ts';

const SIGNAL = new AbortController().signal;

const avro = (...fields: readonly object[]): NewSchema => ({
  type: 'AVRO',
  text: JSON.stringify({
    type: 'record',
    name: 'R',
    fields: [{ name: 'a', type: 'string' }, ...fields],
  }),
});
const FIRST = avro();
const GROWN = avro({ name: 'b', type: 'string', default: '' });
const DEMANDING = avro({ name: 'b', type: 'string' });
const PROTOBUF: NewSchema = {
  type: 'PROTOBUF',
  text: 'syntax = "proto3"; message R { string a = 1; }',
};

/** Compatibility rules of a subject. Only administrators set them, so the suite gets a function for it. */
export type Rule = 'BACKWARD' | 'BACKWARD_TRANSITIVE';

/** @param registry registry under test, in which the suite uses only new subjects */
export function schemaRegistrySuite(
  registry: () => SchemaRegistry,
  setRule: (subject: string, rule: Rule) => Promise<void> | void,
): void {
  const newSubject = () => `suite-${randomBytes(6).toString('hex')}-value`;

  test('a subject without versions is unknown, and accepts any schema', async () => {
    const subject = newSubject();
    assert.equal(await registry().version(subject, 'latest', SIGNAL), undefined);
    assert.equal(await registry().lookup(subject, FIRST, SIGNAL), undefined);
    assert.deepEqual(await registry().compatibility(subject, FIRST, SIGNAL), {
      compatible: true,
      messages: [],
    });
  });

  test('a registered schema is found by its definition and by its id, and registering it again changes nothing', async () => {
    const subject = newSubject();
    const id = await registry().register(subject, FIRST, SIGNAL);
    assert.equal(await registry().register(subject, FIRST, SIGNAL), id);
    const found = await registry().lookup(subject, FIRST, SIGNAL);
    assert.deepEqual([found?.id, found?.version, found?.type], [id, 1, 'AVRO']);
    const byId = await registry().byId(id, SIGNAL);
    assert.deepEqual(
      [byId?.type, JSON.parse(byId?.text ?? ''), byId?.imports],
      ['AVRO', JSON.parse(FIRST.text), []],
    );
    assert.equal(await registry().lookup(subject, GROWN, SIGNAL), undefined);
  });

  test('a second schema is the latest version, and the first schema keeps its number', async () => {
    const subject = newSubject();
    const first = await registry().register(subject, FIRST, SIGNAL);
    assert.equal((await registry().compatibility(subject, GROWN, SIGNAL)).compatible, true);
    const second = await registry().register(subject, GROWN, SIGNAL);
    assert.notEqual(first, second);
    assert.equal((await registry().version(subject, 1, SIGNAL))?.id, first);
    assert.equal((await registry().version(subject, 'latest', SIGNAL))?.version, 2);
    assert.equal((await registry().lookup(subject, FIRST, SIGNAL))?.version, 1);
  });

  test('a schema that conflicts only with an older version passes the check, but a transitive rule rejects its registration', async () => {
    for (const rule of ['BACKWARD', 'BACKWARD_TRANSITIVE'] as const) {
      const subject = newSubject();
      await registry().register(subject, FIRST, SIGNAL);
      await setRule(subject, rule);
      await registry().register(subject, GROWN, SIGNAL);
      // Conflicts with the first version only: records of that version lack b, and b has no default.
      const found = await registry().compatibility(subject, DEMANDING, SIGNAL);
      assert.deepEqual(found, { compatible: true, messages: [] }, rule);
      const registered = registry().register(subject, DEMANDING, SIGNAL);
      if (rule === 'BACKWARD') await registered;
      else
        await assert.rejects(
          registered,
          (error) => error instanceof RegistryRefused && error.status === 409,
        );
    }
  });

  test('a schema has the same id under two subjects', async () => {
    const id = await registry().register(newSubject(), PROTOBUF, SIGNAL);
    assert.equal(await registry().register(newSubject(), PROTOBUF, SIGNAL), id);
    assert.equal((await registry().byId(id, SIGNAL))?.type, 'PROTOBUF');
  });

  test('an aborted call rejects', async () => {
    await assert.rejects(
      registry().lookup(newSubject(), FIRST, AbortSignal.abort(new Error('gave up'))),
      /gave up/,
    );
  });
}
