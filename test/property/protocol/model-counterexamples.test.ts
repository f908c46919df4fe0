/** Tests the model itself: without any one of the rules it finds a violation, in the minimum number of steps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTEREXAMPLES } from '../../model/configurations.ts';
import { runConfiguration, unexpected } from '../../model/run.ts';

for (const configuration of COUNTEREXAMPLES) {
  test(`${configuration.name}: a counterexample`, () => {
    assert.equal(unexpected(configuration, runConfiguration(configuration).outcome), undefined);
  });
}

test('the results and numbers of steps are the same with and without symmetry of the instances', () => {
  for (const configuration of COUNTEREXAMPLES) {
    const { outcome } = runConfiguration(configuration, { symmetry: false });
    assert.equal(unexpected(configuration, outcome), undefined);
    assert.ok(
      'trace' in outcome && outcome.trace.steps.every((step) => step !== '?'),
      configuration.name,
    );
  }
});
