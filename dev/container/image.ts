/**
 * Makes what the Dockerfile makes, without a container engine: its own RUN and COPY instructions, in a directory. In place of the
 * base image stand the Debian packages that such a base consists of.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BuildContext } from './context.ts';
import {
  type Dockerfile,
  execForm,
  readDockerfile,
  type Stage,
  shellCommand,
} from './dockerfile.ts';

/** Packages of gcr.io/distroless/cc that Node needs. */
const BASE_PACKAGES = ['libc6', 'libgcc-s1', 'libstdc++6', 'tzdata', 'netbase'];

export interface Image {
  /** The root of its file system. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  readonly healthcheck: readonly string[];
}

/**
 * @param node the Node binary that stands for NODE_IMAGE's.
 * @param directory an empty directory.
 * @throws Error when a step fails.
 */
export function makeImage(
  repository: string,
  node: string,
  directory: string,
  report: (line: string) => void,
): Image {
  const dockerfile = readDockerfile(readFileSync(path.join(repository, 'Dockerfile'), 'utf8'));
  const build = stageNamed(dockerfile, 'build');
  const buildRoot = path.join(directory, 'build');
  const env = { ...process.env, PATH: `${path.dirname(node)}:${process.env.PATH}` };
  for (const { name, value } of build.instructions) {
    if (name === 'COPY') copy(value, repository, buildRoot, contextOf(repository));
    if (name === 'RUN') {
      const command = shellCommand(value);
      report(`RUN ${command}`);
      execFileSync('sh', ['-ec', command], {
        cwd: buildRoot,
        env,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    }
    if (name === 'WORKDIR') mkdirSync(buildRoot, { recursive: true });
  }

  const root = path.join(directory, 'root');
  unpackBase(root, path.join(directory, 'packages'));
  const runtime = path.join(directory, 'runtime');
  for (const { name, value } of stageNamed(dockerfile, 'node').instructions) {
    if (name === 'RUN')
      execFileSync('sh', [
        '-ec',
        value.replaceAll('/runtime', runtime).replace('/usr/local/bin/node', node),
      ]);
  }
  return { root, ...finalStage(dockerfile, repository, buildRoot, root, runtime) };
}

function finalStage(
  dockerfile: Dockerfile,
  repository: string,
  buildRoot: string,
  root: string,
  runtime: string,
): Omit<Image, 'root'> {
  const stage = dockerfile.stages.at(-1) as Stage;
  const env: Record<string, string> = {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  };
  const said = new Map<string, string>();
  let workdir = '/';
  for (const { name, value } of stage.instructions) {
    if (name === 'WORKDIR') {
      workdir = value;
      mkdirSync(path.join(root, workdir), { recursive: true });
    } else if (name === 'ENV') {
      for (const [, key = '', text = ''] of value.matchAll(/(\w+)=(\S+)/g)) env[key] = text;
    } else if (name === 'COPY' && value === '--from=node /runtime/ /') {
      cpSync(runtime, root, { recursive: true });
    } else if (name === 'COPY') {
      const fromBuild = value.startsWith('--from=build ');
      const words = value.replace(/^--from=\S+ /, '').replaceAll('/build/', '');
      if (fromBuild) copy(words, buildRoot, path.join(root, workdir));
      else copy(words, repository, path.join(root, workdir), contextOf(repository));
    } else said.set(name, value);
  }
  const [uid = 0, gid = 0] = (said.get('USER') ?? '0:0').split(':').map(Number);
  return {
    env,
    workdir,
    user: { uid, gid },
    entrypoint: execForm(said.get('ENTRYPOINT') ?? ''),
    command: execForm(said.get('CMD') ?? ''),
    healthcheck: execForm(said.get('HEALTHCHECK') ?? ''),
  };
}

/**
 * `COPY a b/ ./`: what ends with / or names several is a directory.
 * @param context what may be taken; undefined: everything
 */
function copy(value: string, from: string, workdir: string, context?: BuildContext): void {
  const words = value.split(/\s+/);
  const target = words.pop() as string;
  for (const word of words) {
    if (context?.mayHave(word) === false)
      throw new Error(`COPY ${word}: .dockerignore leaves it out`);
    const into = path.join(workdir, target);
    const to =
      target.endsWith('/') || words.length > 1 ? path.join(into, path.basename(word)) : into;
    const filter = (file: string) => {
      const name = path.relative(from, file).split(path.sep).join('/');
      return (
        context === undefined ||
        (statSync(file).isDirectory() ? context.mayHave(name) : context.has(name))
      );
    };
    cpSync(path.join(from, word), to, { recursive: true, filter });
  }
}

function contextOf(repository: string): BuildContext {
  return new BuildContext(readFileSync(path.join(repository, '.dockerignore'), 'utf8'));
}

function unpackBase(root: string, packages: string): void {
  mkdirSync(packages, { recursive: true });
  mkdirSync(root, { recursive: true });
  // As packages expect it: /lib is within /usr.
  execFileSync(
    'sh',
    [
      '-ec',
      'mkdir -p usr/lib usr/lib64 usr/bin etc tmp proc dev; ln -s usr/lib lib; ln -s usr/lib64 lib64; ln -s usr/bin bin',
    ],
    { cwd: root },
  );
  execFileSync('apt-get', ['download', '-qq', ...BASE_PACKAGES], {
    cwd: packages,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  execFileSync('sh', [
    '-ec',
    'for package in "$1"/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$2"; done',
    'sh',
    packages,
    root,
  ]);
  writeFileSync(
    path.join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
  );
  writeFileSync(path.join(root, 'etc/resolv.conf'), readFileSync('/etc/resolv.conf'));
}

function stageNamed(dockerfile: Dockerfile, name: string): Stage {
  const stage = dockerfile.stages.find((one) => one.name === name);
  if (stage === undefined) throw new Error(`the Dockerfile has no stage ${name}`);
  return stage;
}
