import { test } from 'node:test';
import { OF_SEVERAL_BROKERS, promiseHolds } from './promise.ts';

test('the promise holds under the faults of connections and brokers, with three brokers', (t) =>
  promiseHolds(t, { seed: 21, brokers: 3, faults: OF_SEVERAL_BROKERS }));
