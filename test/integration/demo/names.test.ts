import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namesWith, PIPELINES } from '../../../dev/demo/cluster.ts';
import { loadConfig } from '../../../src/config/load.ts';

const CONFIG = new URL('../../../config/demo.yaml', import.meta.url).pathname;
const ENVIRONMENT = {
  KAFKA_BROKERS: '127.0.0.1:1',
  SERVICE_URL: 'http://127.0.0.1:2',
  SERVICE_API_KEY: 'k',
};

test('the demo creates and deletes what its configuration names, with a prefix and without', async () => {
  for (const prefix of ['', 'demo-0a1b2c3d-']) {
    const { pipelines } = await loadConfig(CONFIG, { ...ENVIRONMENT, NAME_PREFIX: prefix });
    const names = namesWith(prefix);
    assert.deepEqual(
      pipelines.map(({ name, kind }) => [name, kind]),
      PIPELINES.map((name) => [name, name]),
    );
    for (const { name, source, output, deadLetters, journal } of pipelines) {
      const { partitions: _, ...wanted } = names.pipelines[name as (typeof PIPELINES)[number]];
      assert.deepEqual(
        {
          source: source.topic,
          outcomes: output.topic,
          deadLetters: deadLetters.topic,
          journal: journal.topic,
          group: source.group,
        },
        wanted,
      );
    }
  }
});
