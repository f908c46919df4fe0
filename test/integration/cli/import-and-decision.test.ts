/** `import` and `decision` against the sandbox. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { bench, run } from './service-commands.ts';

const DIRECTORY = temporaryDirectory();
let benches = 0;
const nextDirectory = () => path.join(DIRECTORY, String(++benches));

const JSONL = '{"type":"user","data":{"id":1}}\n{"type":"order","data":{"total":1.50}}\n';

describe('import', { timeout: 600_000 }, () => {
  it('sends the file unchanged, and waits until it is processed', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('records.jsonl', JSONL);
    const submitted = await service.run('import', 'submit', file);
    assert.equal(submitted.code, EXIT.ok, submitted.err);
    assert.match(submitted.err, /records\.jsonl: 71 B\n/);
    const id = submitted.out.trim();
    const content = await fetch(`${service.sandbox.baseUrl}/sandbox/imports/${id}/content`);
    assert.equal(await content.text(), JSONL);
    assert.deepEqual(JSON.parse((await service.run('import', 'get', id, '--wait')).out), {
      importId: id,
      status: 'COMPLETE',
      outcome: 'done',
    });
    const waited = await service.run('import', 'submit', file, '--wait');
    assert.equal(JSON.parse(waited.out).status, 'COMPLETE');
  });

  it('ends with 5 when the import failed, with 6 while it is not finished, with 2 for an unknown id', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('records.jsonl', JSONL);
    service.faults(
      { operation: 'ingest', action: 'import_failed' },
      { operation: 'ingest', action: 'stuck' },
    );
    assert.equal((await service.run('import', 'submit', file, '--wait')).code, EXIT.problems);
    const stuck = await service.run('import', 'submit', file, '--wait', '--timeout', '50ms');
    assert.equal(stuck.code, EXIT.unfinished);
    assert.match(stuck.err, /import \S{36} has received its file: do not submit it again\.\n$/);
    const unknown = await service.run('import', 'get', 'nope');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /get_import at \S+ responded with 404/);
  });

  it('is requested at the path that the configuration sets', async (t) => {
    const service = await bench(t, nextDirectory());
    const id = (await service.run('import', 'submit', service.file('a.jsonl', JSONL))).out.trim();
    const path = ', importPath: "/v1/elsewhere/{import_id}"}';
    const elsewhere = service.file(
      'elsewhere.yaml',
      readFileSync(service.config, 'utf8').replace('}', path),
    );
    const lost = await run(['import', 'get', id, '--config', elsewhere], {});
    assert.deepEqual([lost.code, lost.out], [EXIT.usage, '']);
    assert.match(lost.err, /get_import at \S+\/v1\/elsewhere\/\S+ responded with 404/);
  });
});

describe('decision get', { timeout: 600_000 }, () => {
  it('prints the decision, and ends with the exit code of its state', async (t) => {
    const service = await bench(t, nextDirectory());
    const labels = [
      { name: 'prize', applied: true, explanation: 'Speaks of\u009b2J\u202e a prize.' },
    ];
    service.sandbox.makeDecisions([
      {
        decision_id: 'd-1',
        decision_status: 'SUCCESS',
        result: 'spam',
        labels,
        metadata: { post: 42 },
      },
      { decision_id: 'd-2', decision_status: 'ERROR' },
      { decision_id: 'd-3', pending: 'always' },
    ]);
    const made = await service.run('decision', 'get', 'd-1');
    assert.equal(made.code, EXIT.ok);
    // The output is printable ASCII, so that the content cannot control the terminal.
    assert.match(made.out, /^[ -~]+\n$/);
    assert.deepEqual(JSON.parse(made.out), {
      decisionId: 'd-1',
      status: 'SUCCESS',
      result: 'spam',
      labels,
      metadata: { post: 42 },
      outcome: 'done',
    });
    const digits =
      '[{"name":"a","applied":true,"explanation":null,"n":12345678901234567890,"p":0.10}]';
    const body = `{"decision_status":"SUCCESS","metadata":{"n":1.10},"labels":${digits}}`;
    service.faults({ operation: 'get_decision', action: 'answer', status: 200, body });
    const exact = await service.run('decision', 'get', 'd-1');
    assert.ok(exact.out.includes(`"labels":${digits},"metadata":{"n":1.10}`), exact.out);
    assert.equal((await service.run('decision', 'get', 'd-2', '--wait')).code, EXIT.problems);
    assert.equal((await service.run('decision', 'get', 'd-3')).code, EXIT.unfinished);
    assert.match(
      (await service.run('decision', 'get', '..')).err,
      /^get_decision at \S+ was not called/,
    );
    assert.equal(
      (await service.run('decision', 'get', 'd-3', '--wait', '--timeout', '20ms')).code,
      EXIT.unfinished,
    );
    const unknown = await service.run('decision', 'get', 'd-4');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /get_decision at \S+ responded with 404/);
  });
});
