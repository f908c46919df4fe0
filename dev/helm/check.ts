/**
 * Checks the chart, the Dockerfile and the compose file without a cluster or a container engine:
 * `npm run helm:check`. Exits with 1 and the complete output of each failed check.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { execute } from './execute.ts';
import { checkMounted } from './mounted.ts';
import { composeFile, customResources, documentsOf, type Manifest } from './schemas.ts';
import { ensureTools, type Tools } from './tools.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const CHART = path.join(REPOSITORY, 'helm/content-review-connector');
/** Versions to check: the oldest that Chart.yaml allows and that has schemas, and the newest. */
const KUBERNETES = ['1.27.0', '1.37.0'];

type Check = (tools: Tools, scratch: string) => Promise<void>;

const CHECKS: readonly (readonly [string, Check])[] = [
  [
    'hadolint',
    async ({ hadolint }) => void (await execute(hadolint, [path.join(REPOSITORY, 'Dockerfile')])),
  ],
  ['docker-compose.yaml against the Compose Specification', compose],
  [
    'helm-unittest',
    async ({ helmUnittest }) => void (await execute(helmUnittest, ['--color=false', CHART])),
  ],
  ['README.md is the output of helm-docs', readme],
  ...valueSets().flatMap((file): (readonly [string, Check])[] => [
    [`helm lint, ${path.basename(file)}`, (tools) => lint(tools, file)],
    [
      `rendered manifests, ${path.basename(file)}`,
      (tools, scratch) => manifests(tools, file, scratch),
    ],
  ]),
];

function valueSets(): string[] {
  return readdirSync(path.join(CHART, 'ci')).map((file) => path.join(CHART, 'ci', file));
}

async function compose({ schemas }: Tools): Promise<void> {
  const [document] = documentsOf(
    readFileSync(path.join(REPOSITORY, 'docker-compose.yaml'), 'utf8'),
  );
  refuse(composeFile(schemas)(document));
}

async function readme({ helmDocs }: Tools): Promise<void> {
  const flags = ['--dry-run', '--skip-version-footer', '--log-level=warning'];
  flags.push(`--chart-search-root=${CHART}`);
  const { stdout } = await execute(helmDocs, flags, { cwd: CHART });
  if (stdout.trim() !== readFileSync(path.join(CHART, 'README.md'), 'utf8').trim())
    throw new Error(
      'it differs: run helm-docs --chart-search-root helm --skip-version-footer (node dev/helm/tools.ts prints its location)',
    );
}

async function lint({ helm }: Tools, values: string): Promise<void> {
  const args = ['lint', '--strict', '--quiet', CHART, '--values', values];
  const { stdout, stderr } = await execute(helm, args);
  // Lint reports a failing template only as information.
  if (/\[(INFO|WARNING|ERROR)\] (?!Chart\.yaml: icon)|Fail:/.test(stdout + stderr))
    throw new Error(stdout + stderr);
}

async function manifests(
  { helm, python, schemas }: Tools,
  values: string,
  scratch: string,
): Promise<void> {
  const directory = path.join(scratch, path.basename(values));
  mkdirSync(directory, { recursive: true });
  const custom = customResources(schemas);
  for (const version of KUBERNETES) {
    const flags = ['--namespace', 'review', '--kube-version', version, '--values', values];
    const { stdout } = await execute(helm, ['template', 'posts', CHART, ...flags]);
    const rendered = documentsOf(stdout) as Manifest[];
    refuse(namesTwice(rendered));
    const own = rendered.filter(({ apiVersion, kind }) => custom.has(`${apiVersion}/${kind}`));
    refuse(
      own.flatMap((manifest) =>
        (custom.get(`${manifest.apiVersion}/${manifest.kind}`)?.(manifest) ?? []).map(
          (problem) => `${manifest.kind}: ${problem}`,
        ),
      ),
    );
    const file = path.join(directory, `${version}.json`);
    const list = {
      apiVersion: 'v1',
      kind: 'List',
      items: rendered.filter((manifest) => !own.includes(manifest)),
    };
    writeFileSync(file, list.items.map((item) => `---\n${JSON.stringify(item)}\n`).join(''));
    const validate = ['-m', 'kubernetes_validate', '--strict', '--kubernetes-version', version];
    const { stdout: report, stderr } = await execute('python3', [...validate, file], {
      env: { ...process.env, PYTHONPATH: python },
    });
    // A missing schema is only a warning.
    if (/^WARN/m.test(report + stderr)) throw new Error(report + stderr);
    if (version === KUBERNETES[0]) await checkMounted(rendered, REPOSITORY, directory);
  }
}

function namesTwice(manifests: readonly Manifest[]): string[] {
  const names = manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  return names
    .filter((name, index) => names.indexOf(name) !== index)
    .map((name) => `${name} exists twice`);
}

function refuse(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

const tools = await ensureTools((line) => process.stdout.write(`${line}\n`));
const scratch = mkdtempSync(path.join(tmpdir(), 'chart-'));
try {
  const results = await Promise.allSettled(CHECKS.map(([, check]) => check(tools, scratch)));
  for (const [index, result] of results.entries()) {
    const failed = result.status === 'rejected';
    process.stdout.write(`${failed ? '✗' : '✓'} ${CHECKS[index]?.[0]}\n`);
    if (!failed) continue;
    process.stdout.write(
      `${result.reason instanceof Error ? result.reason.message : String(result.reason)}\n`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.stdout.write(`${CHECKS.length} checks\n`);
