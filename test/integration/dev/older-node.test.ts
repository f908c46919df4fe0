/** Installation on a machine whose Node is older than the connector requires. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Output after an install by this Node. */
const hint = (agent: string | undefined) =>
  spawnSync(process.execPath, [path.join(ROOT, 'dev/older-node.js')], {
    encoding: 'utf8',
    env: agent === undefined ? {} : { npm_config_user_agent: agent },
  });

test('an older Node has one line that names npm scripts, on standard error; another has none', () => {
  const { node } = (
    JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      engines: { node: string };
    }
  ).engines;
  for (const version of ['18.20.4', '20.20.2', '23.11.9']) {
    const { stdout, stderr } = hint(`npm/11.19.1 node/v${version} linux x64 workspaces/false`);
    assert.equal(stdout, '');
    assert.match(
      stderr,
      new RegExp(
        `^Node ${version} is on the PATH; the connector needs ${node.slice(2)}\\.0\\. Use npm scripts.*\n$`,
      ),
    );
  }
  for (const version of ['24.0.0', '24.1.0', process.versions.node])
    assert.equal(hint(`npm/11.19.1 node/v${version} linux x64`).stderr, '');
  assert.equal(hint(undefined).stderr, '');
});
