/** Progress of the commands that call the service, at a terminal. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { CommandProgress } from '../../../packages/client/src/cli/progress.ts';
import { follow, writeFile } from '../../../packages/client/src/commands/commands.ts';
import { BATCH } from '../../../packages/client/src/commands/resources.ts';
import type { Session } from '../../../packages/client/src/commands/session.ts';
import { submitFile } from '../../../packages/client/src/commands/submit.ts';
import type {
  Batch,
  ContentReviewClient,
  DownloadOptions,
  StreamBody,
  WaitOptions,
} from '../../../packages/client/src/index.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/**
 * Returns a session with a client of these methods, on the test's own clock, and the lines that it overwrites at a
 * terminal.
 */
function stage(t: TestContext, methods: object) {
  let nowMs = 0;
  const lines: string[] = [];
  t.mock.method(performance, 'now', () => nowMs);
  const io = {
    env: {},
    outIsTerminal: false,
    errColumns: () => 80,
    out: () => {},
    err: (text: string) => {
      if (text.startsWith('\r\u001b[K')) lines.push(text.slice(4));
    },
    data: async () => true,
    finish: () => {},
  };
  const session: Session = {
    io,
    flags: {},
    client: methods as ContentReviewClient,
    progress: new CommandProgress(io),
    signal: new AbortController().signal,
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { session, lines, pass };
}

test('the line of a wait moves each second between two polls', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const counts = { total: 2, pending: 1 };
  const batch = { batchId: 'b-1', status: 'PENDING', rawStatus: 'PENDING', counts } as Batch;
  const polled = Promise.withResolvers<Batch>();
  const { session, lines, pass } = stage(t, {
    waitForBatch: (_id: string, { onAnswer }: WaitOptions<Batch>) => {
      onAnswer?.(batch);
      return polled.promise;
    },
  });
  const end = follow(session, BATCH, 'b-1');
  for (let second = 1; second <= 3; second++) {
    pass(1_000);
    t.mock.timers.tick(1_000);
  }
  polled.resolve(batch);
  await end;
  const state = 'batch b-1: PENDING, 1 of 2 rows';
  assert.deepEqual(lines, [`${state}, 1s`, `${state}, 2s`, `${state}, 3s`, '']);
});

test('an upload shows its percentage', async (t) => {
  const file = path.join(temporaryDirectory(), 'posts.csv');
  writeFileSync(file, Buffer.alloc(128 * 1024));
  const { session, lines, pass } = stage(t, {
    createBatch: async () => ({ batchId: 'b-1', uploadUrl: '' }),
    upload: async (_address: string, { length, open }: StreamBody) => {
      assert.equal(length, 128 * 1024);
      pass(1_000);
      for await (const _ of open()) pass(1_000);
    },
  });
  await submitFile(session, BATCH, file);
  assert.deepEqual(lines.slice(0, 2), [
    'uploading  [############------------]  50 %  65.5 kB of 131.1 kB',
    'uploading  [########################] 100 %  131.1 kB of 131.1 kB',
  ]);
});

test('a download shows its percentage if the storage states the length', async (t) => {
  const { session, lines, pass } = stage(t, {
    async *download(address: string, { onLength }: DownloadOptions) {
      if (address === 'known') onLength?.(200);
      for (const chunk of [Buffer.alloc(50), Buffer.alloc(150)]) {
        pass(1_000);
        yield chunk;
      }
    },
  });
  await writeFile(session, 'known');
  await writeFile(session, 'unknown');
  assert.deepEqual(lines, [
    'downloading  [######------------------]  25 %  50 B',
    'downloading  [########################] 100 %  200 B',
    'downloading  50 B',
    'downloading  200 B',
  ]);
});
