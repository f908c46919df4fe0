import { test } from 'node:test';
import { allFaults } from '../chaos/harness/faults/schedule.ts';
import { LONGER_RUNS, OF_SEVERAL_BROKERS, promiseHolds } from './promise.ts';

test('the promise holds under the other faults, with one broker', (t) =>
  promiseHolds(t, {
    seed: 20,
    brokers: 1,
    faults: allFaults().filter((fault) => ![...OF_SEVERAL_BROKERS, ...LONGER_RUNS].includes(fault)),
  }));
