/**
 * The tests of model.test.ts for three records. They are in a separate file because the files of a suite run in
 * parallel.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DESIGN } from '../../model/configurations.ts';
import { runConfiguration, unexpected } from '../../model/run.ts';

for (const configuration of DESIGN) {
  if (configuration.records.split('.').length <= 2) continue;
  test(`${configuration.name}: safe and live`, () => {
    assert.equal(unexpected(configuration, runConfiguration(configuration).outcome), undefined);
  });
}
