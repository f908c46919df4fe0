import { test } from 'node:test';
import { allFaults } from '../chaos/harness/faults/schedule.ts';
import { promiseHolds } from './promise.ts';

test('the promise holds under the other half of the faults, with three brokers', (t) =>
  promiseHolds(t, {
    seed: 21,
    brokers: 3,
    faults: allFaults().filter((_, index) => index % 2 === 1),
  }));
