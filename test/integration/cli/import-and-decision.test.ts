/** `import` and `decision` with the sandbox. */
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
  it('sends the file unchanged and waits until it is processed', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('records.jsonl', JSONL);
    const submitted = await service.run('import', 'submit', file);
    assert.equal(submitted.code, EXIT.ok, submitted.err);
    assert.match(submitted.err, /records\.jsonl: 71 B\n/);
    const id = submitted.out.trim();
    const content = await fetch(`${service.sandbox.baseUrl}/sandbox/imports/${id}/content`);
    assert.equal(await content.text(), JSONL);
    assert.deepEqual(JSON.parse((await service.run('import', 'get', id, '--wait', '--json')).out), {
      importId: id,
      status: 'COMPLETE',
      outcome: 'done',
    });
    const waited = await service.run('import', 'submit', file, '--wait');
    assert.match(waited.out, /^import {3}\S{36}\nstatus {3}COMPLETE\n$/);
  });

  it('exits with 5 if it failed, with 6 while it is unfinished, and with 2 for an unknown id', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('records.jsonl', JSONL);
    service.faults(
      { operation: 'ingest', action: 'import_failed' },
      { operation: 'ingest', action: 'stuck' },
    );
    assert.equal((await service.run('import', 'submit', file, '--wait')).code, EXIT.problems);
    const stuck = await service.run('import', 'submit', file, '--wait', '--timeout', '50ms');
    assert.equal(stuck.code, EXIT.unfinished);
    assert.match(stuck.err, /import get \S{36} --wait --config \S+\n$/);
    const unknown = await service.run('import', 'get', 'nope');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /There is no import with this id/);
  });

  it('warns against a second submission if the state is unavailable, and retries during an outage', async (t) => {
    const service = await bench(t, nextDirectory());
    const file = service.file('records.jsonl', JSONL);
    const elsewhere = service.file(
      'elsewhere.yaml',
      readFileSync(service.config, 'utf8').replace(
        '}',
        ', importPath: "/v1/elsewhere/{import_id}"}',
      ),
    );
    const lost = await run(['import', 'submit', file, '--wait', '--config', elsewhere], {});
    assert.deepEqual([lost.code, lost.out], [EXIT.failure, '']);
    assert.match(
      lost.err,
      /The file was sent, and import \S{36} has it: do not submit it again\. .*service\.importPath.*\n.* 404 .*\nTo continue:\n.* import get \S{36} --wait .*elsewhere/,
    );
    assert.equal(service.sandbox.imports()[0]?.uploaded === null, false);
    service.faults({ operation: 'get_import', action: 'answer', status: 401 });
    const refused = await service.run('import', 'submit', file, '--wait');
    assert.equal(refused.code, EXIT.refused);
    assert.match(
      refused.err,
      /The file was sent, .* do not submit it again\. The API key .* is not accepted/,
    );
    service.faults({ operation: 'get_import', action: 'answer', status: 503, times: 6 });
    const away = await service.run('import', 'submit', file, '--wait');
    assert.equal(away.code, EXIT.ok, away.err);
    assert.match(away.err, /get_import: 503, trying again/);
    const unknown = await service.run('import', 'get', 'nope', '--wait');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /^There is no import with this id at .* service\.importPath/);
  });
});

describe('decision get', { timeout: 600_000 }, () => {
  it('shows the decision as text and JSON, and exits with the code of its state', async (t) => {
    const service = await bench(t, nextDirectory());
    const labels = [{ name: 'prize', applied: true, explanation: 'Speaks of\u001b[2J a prize.' }];
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
    assert.equal(
      made.out,
      [
        'decision   d-1',
        'status     SUCCESS',
        'result     spam',
        'metadata   {"post":42}',
        '',
        'LABEL   APPLIES   EXPLANATION',
        'prize   yes       Speaks of\\u001b[2J a prize.',
        '',
      ].join('\n'),
    );
    const json = JSON.parse((await service.run('decision', 'get', 'd-1', '--json', '--wait')).out);
    assert.deepEqual(json, {
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
    const exact = await service.run('decision', 'get', 'd-1', '--json');
    assert.ok(exact.out.includes(`"labels":${digits},"metadata":{"n":1.10}`), exact.out);
    assert.equal((await service.run('decision', 'get', 'd-2', '--wait')).code, EXIT.problems);
    assert.equal((await service.run('decision', 'get', 'd-3')).code, EXIT.unfinished);
    assert.match(
      (await service.run('decision', 'get', '..')).err,
      /^Invalid request\.\n.* was not called/,
    );
    assert.equal(
      (await service.run('decision', 'get', 'd-3', '--wait', '--timeout', '20ms')).code,
      EXIT.unfinished,
    );
    const unknown = await service.run('decision', 'get', 'd-4');
    assert.equal(unknown.code, EXIT.usage);
    assert.match(unknown.err, /There is no decision with this id/);
  });
});
