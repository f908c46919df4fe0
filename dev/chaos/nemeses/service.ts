/** Faults of the service: its death, and the sandbox's scripted ones. */
import type { FaultInput } from '../../../src/sandbox/faults/schema.ts';
import type { Nemesis } from '../nemesis.ts';

/** kill -9 while reviews are pending; it starts again on its data, at another port behind the same address. */
export const sandboxKill: Nemesis = async (world, random) => {
  const { sandbox, fleet } = world;
  await fleet.someBusy(random);
  const unfinished = await sandbox.unfinished();
  const hit = world.inFlight && unfinished > 0;
  await sandbox.kill();
  try {
    await world.sleep(200 + random.below(1_500));
  } finally {
    await sandbox.start();
  }
  return { hit, note: `${unfinished} batches unfinished` };
};

/** By name in the report. Each hits real work: a fault waits for an operation that it fits. */
export const SERVICE_FAULTS: Readonly<Record<string, FaultInput>> = {
  '429 with Retry-After': { operation: 'create_batch', action: 'answer', status: 429, retryAfter: '1s', times: 3 },
  '503 to polls': { operation: 'get_batch', action: 'answer', status: 503, times: 6 },
  '500 to uploads': { operation: 'upload', action: 'answer', status: 500, times: 2 },
  '503 to downloads': { operation: 'download', action: 'answer', status: 503, times: 2 },
  'batch unknown for a while': { operation: 'get_batch', action: 'answer', status: 404, times: 3 },
  'reset before the create': { operation: 'create_batch', action: 'reset_before', times: 2 },
  'reset after the create': { operation: 'create_batch', action: 'reset_after', times: 2 },
  'reset before the upload': { operation: 'upload', action: 'reset_before', times: 2 },
  'reset after the upload': { operation: 'upload', action: 'reset_after', times: 2 },
  'no answer to polls': { operation: 'get_batch', action: 'hang', times: 2 },
  'slow upload': { operation: 'upload', action: 'slow', bytesPerSecond: 20_000, times: 2 },
  'slow download': { operation: 'download', action: 'slow', bytesPerSecond: 20_000, times: 2 },
  'expired upload address': { operation: 'create_batch', action: 'expired_url', times: 2 },
  'expired download address': { operation: 'get_batch', action: 'expired_url', times: 8 },
  'upload seen late': { operation: 'upload', action: 'late_event', by: '2s', times: 2 },
  'upload seen too late': { operation: 'upload', action: 'late_event', by: '8s' },
  'states misspelt': { operation: 'create_batch', action: 'state', state: 'WATING_FOR_UPLOAD', times: 2 },
  'states never heard of': { operation: 'get_batch', action: 'state', state: 'ON_HOLD', times: 3 },
  'the same batch again': { operation: 'create_batch', action: 'repeat_id' },
  'download cut': { operation: 'download', action: 'cut', afterBytes: 2_000, times: 2 },
  'download short': { operation: 'download', action: 'short', bytes: 2_000, times: 2 },
  'batch ERROR': { operation: 'review', action: 'batch_error', times: 2 },
  'batch CANCELLED': { operation: 'review', action: 'batch_cancelled' },
  'stuck PENDING': { operation: 'review', action: 'stuck', for: '5s', times: 2 },
  'rows missing': { operation: 'review', action: 'rows', missing: 3, times: 2 },
  'rows twice': { operation: 'review', action: 'rows', duplicated: 4, times: 2 },
  'rows malformed': { operation: 'review', action: 'rows', malformed: 2, times: 2 },
  'rows unknown': { operation: 'review', action: 'rows', unknown: 3, times: 2 },
  'rows shuffled': { operation: 'review', action: 'rows', shuffled: true, columns: { Reviewer: 'someone' }, times: 2 },
};
