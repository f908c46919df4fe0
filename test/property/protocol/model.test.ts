/** Model of the protocol (docs/internals/testing.md): the rules are safe and live in all states of two records. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESIGN } from '../../model/configurations.ts';
import { runConfiguration, unexpected } from '../../model/run.ts';

for (const configuration of DESIGN) {
  if (configuration.records.split('.').length > 2) continue;
  test(`${configuration.name}: safe and live`, () => {
    assert.equal(unexpected(configuration, runConfiguration(configuration).outcome), undefined);
  });
}
