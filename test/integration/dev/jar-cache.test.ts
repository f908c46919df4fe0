import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { ensureJars, JarsUnavailable } from '../../../dev/kafka/jars.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Files that the real Maven would copy. */
const JARS: Readonly<Record<string, string>> = { 'kafka.jar': 'the broker', 'log.jar': 'its log' };
const MANIFEST = Object.entries(JARS)
  .map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
  .join('');

interface Places {
  readonly manifest: string;
  readonly parent: string;
  readonly repository: string;
  readonly calls: string;
}

/** A cache and a Maven of this test's own: a script on PATH that copies the jars from a folder, and notes its calls. */
function isolated(): Places {
  const root = temporaryDirectory();
  const bin = path.join(root, 'bin');
  const places = {
    manifest: path.join(root, 'jars.sha256'),
    parent: path.join(root, 'cache', 'content-review-connector'),
    repository: path.join(root, 'repository'),
    calls: path.join(root, 'calls'),
  };
  mkdirSync(bin);
  mkdirSync(places.repository);
  writeFileSync(places.manifest, MANIFEST);
  for (const [name, content] of Object.entries(JARS))
    writeFileSync(path.join(places.repository, name), content);
  const mvn = path.join(bin, 'mvn');
  const script = [
    '#!/bin/sh',
    `echo "$@" >> ${places.calls}`,
    'for option; do case $option in -DoutputDirectory=*) to=$(echo $option | cut -d= -f2);; esac; done',
    `mkdir -p "$to" && cp ${places.repository}/* "$to"`,
  ];
  writeFileSync(mvn, `${script.join('\n')}\n`);
  chmodSync(mvn, 0o755);
  process.env.XDG_CACHE_HOME = path.join(root, 'cache');
  process.env.PATH = `${bin}:/usr/bin:/bin`;
  return places;
}

function mavenRuns(places: Places): number {
  return existsSync(places.calls)
    ? readFileSync(places.calls, 'utf8').trim().split('\n').length
    : 0;
}

async function ensure(places: Places): Promise<{ readonly jars: string; readonly said: string }> {
  const said: string[] = [];
  const jars = await ensureJars((message) => said.push(message), places.manifest);
  return { jars, said: said.join('\n') };
}

test('jars are fetched once and found in the cache afterwards', async () => {
  const places = isolated();
  const first = await ensure(places);
  assert.match(first.said, /fetching Kafka 4\.\d+\.\d+ with Maven/);
  assert.deepEqual(readdirSync(first.jars).sort(), Object.keys(JARS).sort());
  const second = await ensure(places);
  assert.deepEqual(second, { jars: first.jars, said: '' });
  assert.equal(mavenRuns(places), 1);
  assert.deepEqual(readdirSync(places.parent), [path.basename(first.jars)]);
});

for (const [what, damage] of [
  ['changed', (jars: string) => writeFileSync(path.join(jars, 'log.jar'), 'its lot')],
  ['added', (jars: string) => writeFileSync(path.join(jars, 'evil.jar'), 'anything')],
] as const) {
  test(`a jar that was ${what} in the cache is noticed, said, and the cache is rebuilt`, async () => {
    const places = isolated();
    const { jars } = await ensure(places);
    damage(jars);
    const again = await ensure(places);
    assert.match(again.said, /damaged \((log|evil)\.jar\)/);
    assert.deepEqual(readdirSync(jars).sort(), Object.keys(JARS).sort());
    assert.equal(readFileSync(path.join(jars, 'log.jar'), 'utf8'), 'its log');
    assert.deepEqual(readdirSync(places.parent), [path.basename(jars)]);
  });
}

test('jars that Maven brings are refused when the manifest lists others, and nothing is installed', async () => {
  const places = isolated();
  writeFileSync(path.join(places.repository, 'kafka.jar'), 'another broker');
  await assert.rejects(
    ensure(places),
    /other jars than dev\/kafka\/jars\.sha256 lists \(kafka\.jar\); nothing was installed/,
  );
  assert.deepEqual(readdirSync(places.parent), []);
});

test('two that fetch at the same time both get the jars and leave one cache', async () => {
  const places = isolated();
  const [one, other] = await Promise.all([ensure(places), ensure(places)]);
  assert.equal(one?.jars, other?.jars);
  assert.deepEqual(readdirSync(places.parent), [path.basename(one?.jars ?? '')]);
});

test('without Maven an empty cache is reported as jars that cannot be had', async () => {
  const places = isolated();
  process.env.PATH = '/nonexistent';
  await assert.rejects(ensure(places), JarsUnavailable);
});
