/** The worked example of docs/internals/adding.md, run by the engine; page-types.test.ts compiles it. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { PerItemKind } from '../../../src/core/ports/pipeline-kind.ts';
import { World } from '../../support/engine/world.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FILE = path.join(temporaryDirectory(), 'confirm.ts');

test('the engine settles each record once with the kind of the example', async () => {
  const page = await readFile(`${ROOT}docs/internals/adding.md`, 'utf8');
  const example = /```ts\n(.*?)```/s.exec(page)?.[1] ?? '';
  assert.match(example, /confirmKind/);
  await writeFile(FILE, example.replace(/'\.\.\/(src|packages)\//g, `'${ROOT}$1/`));
  const { confirmKind } = (await import(FILE)) as {
    confirmKind: (
      topic: string,
      newId: () => string,
      confirm: (text: string) => Promise<boolean>,
    ) => PerItemKind;
  };
  let ids = 0;
  const kind = confirmKind(
    'content',
    () => `id-${++ids}`,
    async (text) => text.startsWith('yes'),
  );
  const world = new World({ partitions: 2, wrap: (ports) => ({ ...ports, kind }) });
  world.start();
  for (const [n, text] of ['yes 1', 'no 2', 'yes 3', 'no 4', 'no 5'].entries())
    world.put(n % 2, text);
  const decided = () => world.published('decisions').map(({ value }) => JSON.parse(String(value)));
  await world.clock.runUntil(() => decided().length === 5, 60_000);
  assert.deepEqual(
    decided()
      .map(({ id, confirmed }) => `${id} ${confirmed}`)
      .sort(),
    [
      'content-0-0 true',
      'content-0-1 true',
      'content-0-2 false',
      'content-1-0 false',
      'content-1-1 false',
    ],
  );
});
