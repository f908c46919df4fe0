/** Static checks of the Dockerfile and the compose file, which the test machines cannot run. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { BuildContext } from '../../../dev/container/context.ts';
import { execForm, readDockerfile, type Stage } from '../../../dev/container/dockerfile.ts';
import { REPOSITORY_URL } from '../../../src/base/version.ts';
import { parseConfig } from '../../../src/config/load.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const { args, stages } = readDockerfile(read('Dockerfile'));
const last = stages.at(-1) as Stage;
const lastOf = (name: string) =>
  last.instructions.findLast((instruction) => instruction.name === name)?.value ?? '';

describe('the image', () => {
  it('has the Node that the tests run on', () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    assert.match(
      args.get('NODE_IMAGE') ?? '',
      new RegExp(`^node:${packages['node_modules/node'].version}-[a-z]+-slim$`),
    );
  });

  it('starts as the first line of main.ts has it, without a shell in between', () => {
    const [, variable, option] =
      /^#!\/usr\/bin\/env -S (\S+) node (\S+)\n/.exec(read('src/cli/main.ts')) ?? [];
    assert.deepEqual(execForm(lastOf('ENTRYPOINT')), ['node', option, 'dist/cli/main.js']);
    assert.ok(lastOf('ENV').includes(`${variable}`), `ENV lacks ${variable}`);
    assert.equal(execForm(lastOf('HEALTHCHECK'))[0], 'node');
    assert.equal(lastOf('STOPSIGNAL'), 'SIGTERM');
  });

  it('runs as a user that is not root, by number, where platforms can check it', () => {
    assert.match(lastOf('USER'), /^[1-9]\d*:[1-9]\d*$/);
    const chart = parse(read('helm/content-review-connector/values.yaml'));
    assert.equal(
      `${chart.podSecurityContext.runAsUser}:${chart.podSecurityContext.runAsGroup}`,
      lastOf('USER'),
    );
  });

  it('gets from the checkout only what .dockerignore lets through', () => {
    const context = new BuildContext(read('.dockerignore'));
    const copied = stages
      .flatMap(({ instructions }) => instructions)
      .filter(({ name, value }) => name === 'COPY' && !value.startsWith('--from='))
      .flatMap(({ value }) => value.split(/\s+/).slice(0, -1));
    assert.ok(copied.length > 0);
    assert.deepEqual(
      copied.filter((name) => !context.has(name) || !existsSync(path.join(ROOT, name))),
      [],
    );
    for (const name of ['src/telemetry/console/page/index.html', 'contracts/decision.schema.json'])
      assert.equal(context.has(name), true, name);
    for (const name of [
      '.git/config',
      'node_modules/pino/pino.js',
      'test/run.ts',
      'contracts/examples/x',
    ])
      assert.equal(context.has(name), false, name);
  });

  it('names the repository of the package, and so does the chart', () => {
    const { homepage, bugs } = JSON.parse(read('package.json'));
    const { home, sources } = parse(read('helm/content-review-connector/Chart.yaml'));
    assert.deepEqual([home, sources], [REPOSITORY_URL, [REPOSITORY_URL]]);
    assert.deepEqual([homepage, bugs], [`${REPOSITORY_URL}#readme`, `${REPOSITORY_URL}/issues`]);
    assert.match(lastOf('LABEL'), new RegExp(`image\\.source="${REPOSITORY_URL}"`));
  });

  it('has a version that is that of the package', () => {
    const { version } = JSON.parse(read('package.json'));
    const { appVersion } = parse(read('helm/content-review-connector/Chart.yaml'));
    const written = last.instructions.find(
      ({ name, value }) => name === 'ARG' && value.startsWith('VERSION='),
    )?.value;
    assert.deepEqual([appVersion, written], [version, `VERSION=${version}`]);
  });
});

describe('docker-compose.yaml', () => {
  const compose = parse(read('docker-compose.yaml'), { merge: true });
  const services: [
    string,
    {
      image: string;
      volumes?: string[];
      ports?: string[];
      depends_on?: object;
      profiles?: string[];
    },
  ][] = Object.entries(compose.services);

  it('mounts what is there, and waits for services that it has', () => {
    const missing: string[] = [];
    for (const [name, { volumes = [], depends_on = {} }] of services) {
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        const known = source.startsWith('./')
          ? existsSync(path.join(ROOT, source))
          : Object.hasOwn(compose.volumes, source);
        if (!known) missing.push(`${name}: ${volume}`);
      }
      for (const other of Object.keys(depends_on))
        if (!Object.hasOwn(compose.services, other)) missing.push(`${name}: ${other}`);
    }
    assert.deepEqual(missing, []);
  });

  it('starts the connector with a configuration that is accepted', () => {
    const file = 'dev/compose/connector.yaml';
    const config = parseConfig(read(file), compose.services.connector.environment, {
      file,
      directory: ROOT,
    });
    assert.equal(config.http.host, '0.0.0.0');
    const topics = compose.services.topics.command.at(-1);
    for (const { source, output, deadLetters } of config.pipelines)
      for (const { topic } of [source, output, deadLetters])
        assert.ok(topics.includes(` ${topic}`), `${topic} is not created`);
  });
});
