/** The model itself: each rule of the protocol that is taken away is missed, in the fewest steps that show it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTEREXAMPLES } from '../../model/configurations.ts';
import { runConfiguration, unexpected } from '../../model/run.ts';

for (const configuration of COUNTEREXAMPLES) {
  test(`${configuration.name}: a counterexample`, () => {
    assert.equal(unexpected(configuration, runConfiguration(configuration).outcome), undefined);
  });
}

test('with symmetry between the instances and without it the same is found, in as many steps', () => {
  for (const configuration of COUNTEREXAMPLES) {
    const { outcome } = runConfiguration(configuration, { symmetry: false });
    assert.equal(unexpected(configuration, outcome), undefined);
    assert.ok(
      'trace' in outcome && outcome.trace.steps.every((step) => step !== '?'),
      configuration.name,
    );
  }
});
