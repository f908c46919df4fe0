/** Documents that would go wrong silently. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PAGES } from '../../../dev/docs/pages.ts';
import { EXIT, EXIT_MEANINGS } from '../../../src/cli/exit-codes.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })];

test('the generated pages are what the code generates', () => {
  for (const page of PAGES)
    assert.equal(readFileSync(page.file, 'utf8'), page.render(), `${page.file.pathname}: run node dev/docs/generate.ts`);
});

test('links between documents lead to files and headings that exist', () => {
  const broken: string[] = [];
  for (const document of DOCUMENTS) {
    for (const [, target = ''] of readFileSync(path.join(ROOT, document), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [file = '', heading] = target.split('#');
      const linked = file === '' ? document : path.join(path.dirname(document), file);
      const exists = existsSync(path.join(ROOT, linked));
      if (!exists || (heading !== undefined && !headingsOf(linked).has(heading))) broken.push(`${document}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('code that documents name is there', () => {
  // In full, or without src/ where a folder of it begins the name.
  const names =
    /(?<![\w./-])(?:(?:src|dev|test)\/|(?=(?:app|cli|config|core|inspect|kafka|pipeline|review|sandbox|service|telemetry)\/))[\w./-]+\.ts\b/g;
  const missing: string[] = [];
  for (const document of DOCUMENTS) {
    for (const [name] of readFileSync(path.join(ROOT, document), 'utf8').matchAll(names)) {
      if (!existsSync(path.join(ROOT, name)) && !existsSync(path.join(ROOT, 'src', name))) missing.push(`${document}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});

test('the exit codes of README.md are those of the command line', () => {
  const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
  const codes = readme.slice(readme.indexOf('| Exit code |')).split('\n\n', 1)[0] ?? '';
  assert.deepEqual(
    [...codes.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code)),
    (Object.keys(EXIT_MEANINGS) as (keyof typeof EXIT)[]).map((name) => EXIT[name]),
  );
});

/** As GitHub names them. */
function headingsOf(document: string): Set<string> {
  const headings = readFileSync(path.join(ROOT, document), 'utf8').matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, text = '']) =>
      text
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
