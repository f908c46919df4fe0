/** Rows of the failure table about topics that are deleted while the connector runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../support/eventually.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { run } from './scenes.ts';

const kafka = await testKafka();
const { scene, replica } = await run(kafka, {
  decided: {},
  rejected: { events: [{ value: 'not json' }] },
  again: {},
  forgotten: {},
  other: {},
});

async function remove(topic: string): Promise<void> {
  await (await kafka.admin()).deleteTopics({ topics: [topic] });
}

/** Creates a topic again. Retries, because the deletion of the former topic may still be in progress. */
async function create(topic: string, partitions = 1, policy = 'delete'): Promise<void> {
  const admin = await kafka.admin();
  const configEntries = [{ name: 'cleanup.policy', value: policy }];
  const topics = [{ topic, numPartitions: partitions, configEntries }];
  await eventually(`topic ${topic}`, () => admin.createTopics({ waitForLeaders: false, topics }));
}

/** Waits until `/readyz` gives a matching reason for a pipeline. */
async function untilNotReady(name: string, reason: RegExp): Promise<void> {
  let last = '';
  const asked = async () => {
    last = await (await fetch(`${await replica.url()}/readyz`)).text();
    const { conditions } = JSON.parse(last);
    return conditions.some(
      (one: { name: string; reason?: string }) =>
        one.name === `${name}/kafka` && reason.test(one.reason ?? ''),
    );
  };
  await eventually(`${name} is not ready`, asked, { deadlineMs: 90_000 }).catch((error: Error) =>
    assert.fail(`${error.message}: ${last}`),
  );
}

const unknown = (topic: string): RegExp =>
  new RegExp(`UNKNOWN_TOPIC_OR_PARTITION: .*; create topic ${topic}, or correct its name`);

test('topic deleted: decisions and dead letters wait until their topic, which is named, is created again', async () => {
  const [decided, rejected] = [scene('decided'), scene('rejected')];
  await Promise.all([decided.endsWell(), rejected.ends()]);
  await Promise.all([remove(decided.topics.decisions), remove(rejected.topics.deadLetters)]);
  await Promise.all([
    decided.write([decided.event('waits')]),
    rejected.write([{ value: 'not json either' }]),
  ]);
  await Promise.all([
    untilNotReady('decided', unknown(decided.topics.decisions)),
    rejected.untilLogged(unknown(rejected.topics.deadLetters)),
  ]);
  await Promise.all([create(decided.topics.decisions), create(rejected.topics.deadLetters)]);
  for (const topic of [decided.topics.decisions, rejected.topics.deadLetters]) {
    const isWritten = async () => (await kafka.readAll(topic)).length > 0;
    await eventually(`the record in ${topic}`, isWritten, { deadlineMs: 60_000 });
    assert.equal((await kafka.readDecided(topic)).length, 1);
  }
  assert.equal(await decided.metric('balance_items'), 0);
});

test('topic deleted: a source that was created again, or a lost journal, stops only its pipeline', async () => {
  const [again, forgotten, other] = [scene('again'), scene('forgotten'), scene('other')];
  await Promise.all([again.endsWell(), forgotten.endsWell(), other.endsWell()]);
  await remove(again.topics.source);
  await create(again.topics.source, 2);
  await kafka.write(again.topics.source, [again.event('of the new topic')]);
  await untilNotReady('again', /the topic was deleted and created again/);
  await remove(forgotten.topics.journal);
  await untilNotReady(
    'forgotten',
    /cannot read topic journal-.*UNKNOWN_TOPIC_OR_PARTITION.*Can I continue without a lost journal/,
  );
  await create(forgotten.topics.journal, 1, 'compact');
  await untilNotReady('forgotten', /the journal topic .* has lost their records/);
  await other.write([other.event('goes on')]);
  await other.endsWell();
  for (const { topics } of [again, forgotten])
    assert.equal(
      (await kafka.readDecided(topics.decisions)).length,
      8,
      'nothing was decided twice',
    );
});
