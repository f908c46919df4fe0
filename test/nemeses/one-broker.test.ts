import { test } from 'node:test';
import { allFaults } from '../chaos/harness/faults/schedule.ts';
import { promiseHolds } from './promise.ts';

test('the promise holds under the first half of the faults, with one broker', (t) =>
  promiseHolds(t, {
    seed: 20,
    brokers: 1,
    faults: allFaults().filter((_, index) => index % 2 === 0),
  }));
