/** Checks of documents for errors that would otherwise go unnoticed. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { GENERATED } from '../../../dev/generate.ts';
import { EXIT, EXIT_MEANINGS } from '../../../packages/client/src/cli/exit-codes.ts';
import { DEAD_LETTER_REASONS } from '../../../src/core/outcome/dead-letter-reason.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...globSync(['docs/**/*.md', 'packages/*/README.md'], { cwd: ROOT }),
];

test('the generated files are up to date', () => {
  // Compares without assert, which would print the whole file twice before the useful message.
  const stale = GENERATED.filter(({ file, render }) => readFileSync(file, 'utf8') !== render());
  const names = stale.map(({ file }) => path.relative(ROOT, file.pathname));
  assert.deepEqual(names, [], 'run npm run generate');
});

test('docs/outcomes.md lists exactly the error codes and reasons of the contracts', () => {
  const listed = (text: string) => [...text.matchAll(/\b[a-z]+_[a-z_]+\b/g)].map(([code]) => code);
  const described = ['decision', 'looked-up-decision', 'receipt'].flatMap((name) => {
    const file = path.join(ROOT, `contracts/${name}.schema.json`);
    const { $defs } = JSON.parse(readFileSync(file, 'utf8'));
    return listed($defs.error.properties.code.description);
  });
  const page = readFileSync(path.join(ROOT, 'docs/outcomes.md'), 'utf8');
  const named = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const all = new Set([...described, ...DEAD_LETTER_REASONS]);
  assert.deepEqual([...new Set(named)].sort(), [...all].sort());
});

test('links between documents lead to existing files and headings', () => {
  const broken: string[] = [];
  for (const document of DOCUMENTS) {
    for (const { target, file, heading } of linksOf(document)) {
      const exists = existsSync(path.join(ROOT, file));
      if (!exists || (heading !== undefined && !headingsOf(file).has(heading)))
        broken.push(`${document}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('every page is linked from docs/README.md directly or indirectly, and docs/README.md from README.md', () => {
  const reached = new Set(['README.md']);
  const follow = (document: string) => {
    for (const { file } of linksOf(document)) {
      if (
        !file.startsWith('docs/') ||
        !file.endsWith('.md') ||
        reached.has(file) ||
        !existsSync(path.join(ROOT, file))
      )
        continue;
      reached.add(file);
      follow(file);
    }
  };
  assert.ok(linksOf('README.md').some(({ file }) => file === 'docs/README.md'));
  follow('docs/README.md');
  assert.deepEqual(
    globSync('docs/**/*.md', { cwd: ROOT }).filter(
      (page) => page !== 'docs/README.md' && !reached.has(page),
    ),
    [],
  );
});

test('docs/limits.md lists exactly the exit codes of the command line', () => {
  const page = readFileSync(path.join(ROOT, 'docs/limits.md'), 'utf8');
  const codes = page.slice(page.indexOf('| Exit code |')).split('\n\n', 1)[0] ?? '';
  assert.deepEqual(
    [...codes.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code)),
    (Object.keys(EXIT_MEANINGS) as (keyof typeof EXIT)[]).map((name) => EXIT[name]),
  );
});

interface Link {
  /** Target as written in the document. */
  readonly target: string;
  /** Path relative to the root. */
  readonly file: string;
  readonly heading: string | undefined;
}

/** Returns the links of a document within the repository. */
function linksOf(document: string): Link[] {
  const links: Link[] = [];
  for (const [, target = ''] of readFileSync(path.join(ROOT, document), 'utf8').matchAll(
    /\]\(([^)\s]+)\)/g,
  )) {
    if (/^https?:/.test(target)) continue;
    const [file = '', heading] = target.split('#');
    links.push({
      target,
      file: file === '' ? document : path.join(path.dirname(document), file),
      heading,
    });
  }
  return links;
}

/** Returns the anchors that GitHub gives to the headings of a document. */
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
