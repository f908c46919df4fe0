import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import {
  ServiceError,
  type ServiceFailure,
} from '../../../packages/client/src/base/service-error.ts';
import { ServiceProbe } from '../../../src/app/service-probe.ts';
import { Health } from '../../../src/telemetry/health.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { VirtualClock } from '../../support/memory/clock.ts';

const failure = (kind: ServiceFailure, status?: number) =>
  new ServiceError(kind, `get_batch responded with ${status ?? kind}`, {
    operation: 'get_batch',
    status,
  });
const UNKNOWN = failure('not_found', 404);
const KEY_REFUSED = failure('unauthorized', 401);
const DOWN = failure('unavailable');

describe('probe of the service', () => {
  let clock: VirtualClock;
  let health: Health;
  let probes: number;
  let outcome: Error | undefined;
  let probe: ServiceProbe;

  beforeEach(() => {
    clock = new VirtualClock();
    health = new Health(() => clock.monotonic());
    probes = 0;
    outcome = UNKNOWN;
    probe = new ServiceProbe({
      probe: async () => {
        probes++;
        if (outcome !== undefined) throw outcome;
      },
      health,
      logger: createLogger({ level: 'silent' }),
      clock,
    });
  });

  const states = () =>
    Object.fromEntries(health.readiness().conditions.map(({ name, ready }) => [name, ready]));
  const reasonOf = (name: string) =>
    health.readiness().conditions.find((condition) => condition.name === name)?.reason;
  const WELL = { service: true, api_key: true };

  it('is made once at the start, and passes if the service does not know the object', async () => {
    probe.start();
    assert.deepEqual(states(), { service: false, api_key: false }, 'before the first response');
    await clock.advance(600_000);
    assert.deepEqual(states(), WELL);
    assert.equal(probes, 1);
  });

  it('delays claims until the key is accepted, however long it is refused', async () => {
    outcome = KEY_REFUSED;
    probe.start();
    let isOver = false;
    const accepted = probe.untilAccepted(new AbortController().signal).then(() => {
      isOver = true;
    });
    await clock.advance(5_000);
    // A failure of another kind does not prove that the key is valid.
    outcome = DOWN;
    await clock.advance(3_600_000);
    assert.equal(isOver, false);
    outcome = KEY_REFUSED;
    await clock.advance(10_000);
    assert.match(reasonOf('api_key') ?? '', /401; this replica takes no shards before/);

    outcome = UNKNOWN;
    await clock.advance(10_000);
    await accepted;
    outcome = KEY_REFUSED;
    probe.called('get_batch', '401');
    await clock.advance(1_000);
    assert.match(reasonOf('api_key') ?? '', /401; this replica keeps its shards/);
  });

  it('allows claims after ten seconds without a response from the service', async () => {
    outcome = DOWN;
    probe.start();
    let isOver = false;
    const accepted = probe.untilAccepted(new AbortController().signal).then(() => {
      isOver = true;
    });
    await clock.advance(9_999);
    assert.equal(isOver, false);
    await clock.advance(1);
    await accepted;
  });

  it('ends the wait for the key when its signal is aborted', async () => {
    outcome = KEY_REFUSED;
    probe.start();
    const stopping = new AbortController();
    const accepted = probe.untilAccepted(stopping.signal);
    stopping.abort(new Error('stopped'));
    await assert.rejects(accepted, /stopped/);
  });

  it('does not report the key as refused while the service does not respond', async () => {
    outcome = DOWN;
    probe.start();
    await clock.advance(5_000);
    assert.deepEqual(states(), { service: false, api_key: false });
    assert.match(reasonOf('service') ?? '', /unavailable/);
    assert.match(reasonOf('api_key') ?? '', /^not tried yet/);
  });

  it('treats a redirect and a response that violates the API contract as an unavailable service', async () => {
    for (const problem of [failure('protocol', 302), failure('protocol', 200)]) {
      outcome = problem;
      probe.start();
      await clock.advance(1);
      assert.equal(states().service, false);
      probe.called('get_batch', '200');
    }
  });

  it('runs after a failed call of a pipeline, and ignores a transient failure', async () => {
    probe.start();
    await clock.advance(1);
    for (const code of ['503', 'reset', 'connect_failed', 'protocol']) {
      const before = probes;
      probe.called('create_batch', code);
      await clock.advance(2_000);
      assert.deepEqual([states(), probes], [WELL, before + 1], code);
    }
    outcome = DOWN;
    probe.called('get_batch', '503');
    await clock.advance(2_000);
    assert.deepEqual(states(), { service: false, api_key: true });
    outcome = KEY_REFUSED;
    await clock.advance(10_000);
    assert.deepEqual(states(), { service: true, api_key: false });
  });

  it('runs at once when the key of a call is refused, and stops after a successful call', async () => {
    probe.start();
    await clock.advance(1);
    outcome = KEY_REFUSED;
    probe.called('get_batch', '401');
    await clock.advance(0);
    assert.equal(states().api_key, false);

    probe.called('create_batch', '201');
    assert.deepEqual(states(), WELL);
    const made = probes;
    await clock.advance(600_000);
    assert.equal(probes, made);
  });

  it('continues after an unexpected failure', async () => {
    outcome = new Error('a bug');
    probe.start();
    await clock.advance(5_000);
    assert.match(reasonOf('service') ?? '', /could not be probed: a bug/);
    outcome = UNKNOWN;
    await clock.advance(10_000);
    assert.deepEqual(states(), WELL);
  });

  it('ignores transfers, aborted calls, rejected content and overload', async () => {
    probe.start();
    await clock.advance(1);
    const calls = [
      ['upload', '503'],
      ['download', '403'],
      ['create_batch', 'aborted'],
      ['create_batch', '400'],
      ['get_batch', '429'],
    ] as const;
    for (const [operation, code] of calls) probe.called(operation, code);
    await clock.advance(600_000);
    assert.equal(probes, 1);
  });

  it('stops when the process ends', async () => {
    outcome = DOWN;
    probe.start();
    await clock.advance(3_000);
    const made = probes;
    probe.close();
    probe.called('get_batch', '503');
    await clock.advance(600_000);
    assert.equal(probes, made);
  });
});
