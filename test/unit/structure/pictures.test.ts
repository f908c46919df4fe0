/** Pictures of the documentation: each is there, described, and made by `npm run pictures`. */
import assert from 'node:assert/strict';
import { globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DIAGRAMS, IMAGES, RECORDED } from '../../../dev/pictures/diagrams.ts';
import { MADE_BY } from '../../../dev/pictures/draw.ts';
import { chunksOf } from '../../../dev/pictures/png.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOCUMENTS = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })];
const MADE = [...Object.keys(DIAGRAMS), ...RECORDED].sort();
const LIMIT_BYTES = 1.5 * 1024 * 1024;
/** A description says what the picture shows; a file name or a title does not. */
const LEAST_WORDS = 12;

const words = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

/** Pictures of a document, by file, with their alternatives; sources of a <picture> have none. */
function picturesOf(document: string): { file: string; alternative: string | undefined }[] {
  const text = readFileSync(path.join(ROOT, document), 'utf8');
  const at = (target: string) => path.posix.join(path.posix.dirname(document), target);
  const markdown = [...text.matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(
    ([, alternative = '', target = '']) => ({ file: at(target), alternative }),
  );
  const html = [...text.matchAll(/<(img|source) [^>]*\bsrc[^>]*>/g)].map(([tag, kind]) => ({
    file: at(/(?:src|srcset)="([^"]+)"/.exec(tag)?.[1] ?? ''),
    alternative: kind === 'source' ? undefined : (/alt="([^"]*)"/.exec(tag)?.[1] ?? ''),
  }));
  return [...markdown, ...html];
}

const shown = DOCUMENTS.flatMap(picturesOf);

test('each picture in a document is one that the command makes, and has an alternative that describes it', () => {
  for (const { file, alternative } of shown) {
    assert.ok(MADE.includes(path.basename(file)), `${file} is made by no command`);
    if (alternative !== undefined)
      assert.ok(words(alternative) >= LEAST_WORDS, `${file}: "${alternative}" describes little`);
  }
});

test('docs/images has the pictures that the command makes, each shown in a document, and is small', () => {
  const files = globSync('docs/images/*', { cwd: ROOT });
  assert.deepEqual(files.map((file) => path.basename(file)).sort(), MADE);
  assert.deepEqual(
    files.filter((file) => !shown.some((one) => one.file === file)),
    [],
  );
  const bytes = files.reduce((sum, file) => sum + statSync(path.join(ROOT, file)).size, 0);
  assert.ok(bytes < LIMIT_BYTES, `${bytes} bytes`);
});

test('the drawn pictures are what the code draws', () => {
  for (const [name, draw] of Object.entries(DIAGRAMS))
    assert.equal(
      readFileSync(new URL(name, IMAGES), 'utf8'),
      draw(),
      `docs/images/${name}: run npm run pictures -- --diagrams`,
    );
});

test('each picture names the command that made it, and an SVG has a title and a description for screen readers', () => {
  for (const name of MADE) {
    const bytes = readFileSync(new URL(name, IMAGES));
    if (name.endsWith('.png')) {
      const chunks = chunksOf(bytes);
      assert.deepEqual(
        chunks.map(({ type }) => type),
        ['IHDR', 'tEXt', 'PLTE', 'IDAT', 'IEND'],
        `${name} is no PNG with a palette`,
      );
      assert.equal(chunks[1]?.data.toString('latin1'), `Software\0${MADE_BY}`);
      continue;
    }
    const svg = bytes.toString();
    assert.match(svg, new RegExp(`^<svg [^>]*data-picture="${name.replace('.svg', '')}"`));
    assert.match(svg, new RegExp(`^<svg [^>]*data-made-by="${MADE_BY}"`));
    assert.match(svg, /<title id="title">[^<]{5,}<\/title>/);
    const [, description = ''] = /<desc id="desc">([^<]*)<\/desc>/.exec(svg) ?? [];
    assert.ok(words(description) >= LEAST_WORDS, name);
    assert.match(svg, /prefers-color-scheme:dark/);
  }
});
