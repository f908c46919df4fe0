/** `batch get` and `batch results` with the sandbox: exit codes of states, and results. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import type { ServicePolicy } from '../../support/service/fake-service.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { bench } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;
const nextDirectory = () => path.join(DIRECTORY, String(++benches));

const CSV = 'Content,author\r\n"Buy now, ""cheap""!\r\nReally.",u-7\r\nGood morning,u-8\r\n';
const POLICY: ServicePolicy = {
  review: { rules: [{ when: { contains: ['buy now'] }, result: 'rejected' }] },
};

describe('batch get and batch results', { timeout: 600_000 }, () => {
  it('show the state as text, JSON and exit code', async (t) => {
    const service = await bench(t, nextDirectory(), POLICY);
    const submit = async () =>
      (
        await service.run('batch', 'submit', service.file('posts.csv', CSV), '-t', 'post')
      ).out.trim();
    service.faults({ operation: 'review', action: 'stuck' });
    const stuck = await submit();
    const pending = await service.run('batch', 'get', stuck);
    assert.equal(pending.code, EXIT.unfinished);
    assert.equal(JSON.parse(pending.out).outcome, 'unfinished');
    const early = await service.run('batch', 'results', stuck);
    assert.deepEqual([early.code, early.out], [EXIT.unfinished, '']);
    assert.match(early.err, /There are no results yet: --wait waits for them\./);

    const id = await submit();
    assert.equal((await service.run('batch', 'get', id, '--wait')).code, EXIT.ok);
    const csv = await service.run('batch', 'results', id);
    assert.equal(csv.code, EXIT.ok);
    assert.match(
      csv.out,
      /^Content,Status,Sandbox result,Expected result,Labels,author\n"Buy now, ""cheap""!\r\nReally\.",SUCCESS,rejected,.*,u-7\nGood morning,/s,
    );
    assert.equal(csv.err, '');
    const unknown = await service.run('batch', 'get', 'nope');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /get_batch at \S+ responded with 404/);
  });

  it('report a download that breaks off, after writing the received part', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file(
      'posts.csv',
      `Content\n${Array.from({ length: 3_000 }, (_, n) => `row ${n} of many\n`).join('')}`,
    );
    const id = (await service.run('batch', 'submit', file, '-t', 'post')).out.trim();
    const whole = await service.run('batch', 'results', id, '--wait');
    service.faults({ operation: 'download', action: 'cut', afterBytes: 20_000 });
    const part = await service.run('batch', 'results', id);
    assert.equal(part.code, EXIT.failure);
    assert.match(part.err, /was cut off: .*download it again/);
    assert.ok(part.out.length < whole.out.length && whole.out.startsWith(part.out));
  });
});
