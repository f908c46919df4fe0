import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startKafka } from '../../../dev/kafka/start.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('without Java, Docker or a cluster, one message names all three ways', async () => {
  process.env.PATH = '/nonexistent';
  process.env.JAVA_HOME = '';
  process.env.KAFKA_BROKERS = '';
  await assert.rejects(startKafka(), (error: Error) => {
    assert.match(
      error.message,
      /1\. Java 17 or later and Maven.*java was not found, and mvn was not found/,
    );
    assert.match(error.message, /2\. a running Docker engine.*docker was not found/);
    assert.match(error.message, /3\. an existing cluster: set KAFKA_BROKERS/);
    return true;
  });
});

test('KAFKA_BROKERS is used as it is, and its brokers cannot be killed', async () => {
  process.env.KAFKA_BROKERS = 'one.example:9092, two.example:9093';
  process.env.XDG_CACHE_HOME = temporaryDirectory();
  const kafka = await startKafka();
  assert.deepEqual(kafka.brokers, ['one.example:9092', 'two.example:9093']);
  await assert.rejects(kafka.kill(0), /cannot signal a broker of the existing cluster/);
  await assert.rejects(kafka.restart(0), /cannot restart a broker of the existing cluster/);
  assert.throws(() => kafka.pid(0), /existing cluster/);
  await assert.rejects(kafka.tool('any.Tool', []), /needs Java 17 or later/);
  await kafka.stop();
});

test('a KAFKA_BROKERS that is not a list of addresses is refused', async () => {
  for (const value of ['localhost', 'localhost:9092;other:9092', ',', 'http://localhost:9092']) {
    process.env.KAFKA_BROKERS = value;
    await assert.rejects(startKafka(), /KAFKA_BROKERS must be host:port/, value);
  }
});
