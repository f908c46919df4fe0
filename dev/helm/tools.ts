/**
 * Tools that check the chart, the Dockerfile and the compose file. They are built once, from pinned
 * versions, in a cache outside the checkout: Helm and its companions by Go (tools/go.mod), the rest
 * from wheels (requirements.txt) and files of Go modules. `node dev/helm/tools.ts` builds them if
 * necessary, and prints the directory.
 */
import { createHash, randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { jarCache } from '../kafka/jars.ts';
import { keepDirectory } from '../process/kept.ts';
import { execute } from './execute.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const GO_TOOLS = path.join(HERE, 'tools');
/** A change of any of these files causes a new build. */
const SOURCES = ['tools/go.mod', 'tools/go.sum', 'tools/tools.go', 'requirements.txt', 'tools.ts'];
const PROGRAMS = [
  'helm.sh/helm/v3/cmd/helm',
  'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
  'github.com/norwoodj/helm-docs/cmd/helm-docs',
];

/** Schemas from the modules that they describe. `sum` comes from Go's checksum database. */
const SCHEMAS = [
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: ['podmonitors', 'servicemonitors', 'prometheusrules'].map(
      (plural) => `example/prometheus-operator-crd/monitoring.coreos.com_${plural}.yaml`,
    ),
  },
  {
    module: 'github.com/kedacore/keda/v2@v2.21.0',
    sum: 'h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  },
  {
    module: 'github.com/compose-spec/compose-go/v2@v2.16.2',
    sum: 'h1:pTp1DqQwJzFd85GzlWsSszKA1ABrV/ySqsClujIcWA8=',
    files: ['schema/compose-spec.json'],
  },
];

export interface Tools {
  readonly helm: string;
  readonly helmUnittest: string;
  readonly helmDocs: string;
  readonly hadolint: string;
  /** Directory of Python packages with kubernetes_validate. */
  readonly python: string;
  /** Directory of CRDs and compose-spec.json. */
  readonly schemas: string;
}

/** @throws Error that names what is missing on this machine, or has the output of the failed step */
export async function ensureTools(
  report: (line: string) => void = () => undefined,
): Promise<Tools> {
  const directory = await cacheDirectory();
  if (!existsSync(directory)) await make(directory, report);
  const bin = path.join(directory, 'bin');
  return {
    helm: path.join(bin, 'helm'),
    helmUnittest: path.join(bin, 'helm-unittest'),
    helmDocs: path.join(bin, 'helm-docs'),
    hadolint: path.join(directory, 'python', 'bin', 'hadolint'),
    python: path.join(directory, 'python'),
    schemas: path.join(directory, 'schemas'),
  };
}

async function cacheDirectory(): Promise<string> {
  const hash = createHash('sha256');
  for (const source of SOURCES) hash.update(readFileSync(path.join(HERE, source)));
  const name = `chart-tools-${hash.digest('hex').slice(0, 12)}`;
  return path.join(path.dirname(await jarCache()), name);
}

async function make(directory: string, report: (line: string) => void): Promise<void> {
  await need(
    'go',
    ['version'],
    'Go 1.26 or later (https://go.dev/dl, or Go 1.21 or later with permission to download it)',
  );
  await need('python3', ['-m', 'pip', '--version'], 'Python 3.9 or later with pip');
  mkdirSync(path.dirname(directory), { recursive: true });
  const { path: making, remove } = await keepDirectory(`${directory}.making-${randomUUID()}`);
  try {
    mkdirSync(path.join(making, 'schemas'));
    report(
      `compiling ${PROGRAMS.length} programs and fetching ${SCHEMAS.length} modules and some wheels (once; minutes)`,
    );
    await Promise.all([
      compile(path.join(making, 'bin')),
      wheels(path.join(making, 'python')),
      schemas(path.join(making, 'schemas')),
    ]);
    // A rename ensures that the directory is never incomplete. Another process may have been faster.
    if (!existsSync(directory)) renameSync(making, directory);
  } finally {
    await remove();
  }
}

async function compile(bin: string): Promise<void> {
  // Kubernetes version for `helm lint` and `helm template`. The default depends on the release of Helm.
  const versions = ['chartutil', 'lint/rules'].flatMap((name) => [
    `-X helm.sh/helm/v3/pkg/${name}.k8sVersionMajor=1`,
    `-X helm.sh/helm/v3/pkg/${name}.k8sVersionMinor=37`,
  ]);
  const flags = ['-buildvcs=false', `-ldflags=-s -w ${versions.join(' ')}`, '-o', `${bin}/`];
  await execute('go', ['build', ...flags, ...PROGRAMS], {
    cwd: GO_TOOLS,
    // Less frequent garbage collection in the compiler saves a quarter of its processor time.
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOGC: '400' },
  });
}

async function wheels(target: string): Promise<void> {
  const flags = ['--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:'];
  const from = `--requirement=${path.join(HERE, 'requirements.txt')}`;
  await execute('python3', ['-m', 'pip', 'install', ...flags, `--target=${target}`, from]);
}

async function schemas(target: string): Promise<void> {
  for (const { module, sum, files } of SCHEMAS) {
    const { stdout } = await execute('go', ['mod', 'download', '-json', module], { cwd: target });
    const found = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string };
    if (found.Sum !== sum) throw new Error(`${module} has the sum ${found.Sum}, not ${sum}`);
    for (const file of files)
      cpSync(path.join(found.Dir, file), path.join(target, path.basename(file)));
  }
}

async function need(program: string, args: readonly string[], what: string): Promise<void> {
  await execute(program, args).catch(() => {
    throw new Error(`checking the chart needs ${what}: "${[program, ...args].join(' ')}" failed`);
  });
}

if (import.meta.main) {
  const { helm } = await ensureTools((line) => process.stdout.write(`${line}\n`));
  process.stdout.write(`${path.dirname(path.dirname(helm))}\n`);
}
