/** Static checks of the Dockerfile and the compose file, because test machines cannot run them. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { kafkaVersion } from '../../../dev/kafka/jars.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { execForm, readDockerfile, type Stage, shellCommand } from './read-dockerfile.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

const { args, stages } = readDockerfile(read('Dockerfile'));
const last = stages.at(-1) as Stage;
const lastOf = (name: string) =>
  last.instructions.findLast((instruction) => instruction.name === name)?.value ?? '';

describe('the image', () => {
  it('has the Node version that the tests run on', () => {
    const { packages } = JSON.parse(read('package-lock.json'));
    assert.match(
      args.get('NODE_IMAGE') ?? '',
      new RegExp(`^node:${packages['node_modules/node'].version}-[a-z]+-slim$`),
    );
  });

  it('starts Node with the option in the first line of main.ts, without a shell', () => {
    const [, variable, option] =
      /^#!\/usr\/bin\/env -S (\S+) node (\S+)\n/.exec(read('src/cli/main.ts')) ?? [];
    assert.deepEqual(execForm(lastOf('ENTRYPOINT')), ['node', option, 'dist/src/cli/main.js']);
    assert.ok(lastOf('ENV').includes(`${variable}`), `ENV lacks ${variable}`);
    assert.equal(execForm(lastOf('HEALTHCHECK'))[0], 'node');
    assert.equal(lastOf('STOPSIGNAL'), 'SIGTERM');
  });

  it('sets a non-root user by number, so that platforms can check it', () => {
    assert.match(lastOf('USER'), /^[1-9]\d*:[1-9]\d*$/);
    const chart = parse(read('helm/content-review-connector/values.yaml'));
    assert.equal(
      `${chart.podSecurityContext.runAsUser}:${chart.podSecurityContext.runAsGroup}`,
      lastOf('USER'),
    );
  });

  it('installs packages with an .npmrc and a CA file from optional build secrets', () => {
    const [install = '', ...others] = stages
      .flatMap(({ instructions }) => instructions)
      .filter(({ name, value }) => name === 'RUN' && /\bnpm (?:ci|install)\b/.test(value))
      .map(({ value }) => value);
    assert.deepEqual(others, []);
    assert.deepEqual(install.match(/--mount=\S+/g), [
      '--mount=type=secret,id=npmrc,target=/root/.npmrc',
      '--mount=type=secret,id=ca',
    ]);
    const directory = temporaryDirectory();
    const npm = path.join(directory, 'npm');
    writeFileSync(npm, '#!/bin/sh\necho "$NODE_EXTRA_CA_CERTS"\n', { mode: 0o755 });
    const authority = (secret: string) =>
      execFileSync('sh', ['-ec', shellCommand(install).replace('/run/secrets/ca', secret)], {
        env: { PATH: `${directory}:${process.env.PATH}` },
        encoding: 'utf8',
      }).trim();
    assert.equal(authority(npm), npm);
    assert.equal(authority(path.join(directory, 'none')), '');
    const page = read('docs/container.md');
    for (const id of ['npmrc', 'ca']) assert.match(page, new RegExp(`--secret id=${id},src=`));
  });

  it('copies only files that the build context contains', () => {
    const [first, ...rules] = read('.dockerignore')
      .split('\n')
      .filter((line) => /^[^#]/.test(line));
    const copied = stages
      .flatMap(({ instructions }) => instructions)
      .filter(({ name, value }) => name === 'COPY' && !value.startsWith('--from='))
      .flatMap(({ value }) => value.split(/\s+/).slice(0, -1));
    const sent = rules.flatMap((rule) => (rule.startsWith('!') ? [rule.slice(1)] : []));
    assert.equal(first, '*');
    assert.deepEqual(
      sent.toSorted(),
      [...new Set(copied.map((source) => source.split('/')[0]))].toSorted(),
    );
  });

  it('has the version of the package', () => {
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

  it('runs the same Kafka version as the tests', async () => {
    const version = await kafkaVersion();
    for (const name of ['kafka', 'topics'])
      assert.equal(compose.services[name].image, `apache/kafka:${version}`);
  });

  it('can be reached only from this machine, has configurable ports, and pins every image', () => {
    const variables = new Map<string, string>();
    for (const [name, { image, ports = [] }] of services) {
      assert.match(image, /:(?!latest$)[^:]+$/, `${name} has no version`);
      for (const port of ports) {
        const [, variable = '', preset = ''] =
          /^127\.0\.0\.1:\$\{([A-Z]+_PORT):-(\d+)\}:\d+$/.exec(port) ?? [];
        assert.notEqual(variable, '', `${name}: ${port} has no variable or is not local`);
        assert.ok(!variables.has(variable), `${variable} is used twice`);
        variables.set(variable, preset);
      }
    }
    const { KAFKA_ADVERTISED_LISTENERS: advertised } = compose.services.kafka.environment;
    assert.match(
      advertised,
      new RegExp(`OUTSIDE://127\\.0\\.0\\.1:\\$\\{KAFKA_PORT:-${variables.get('KAFKA_PORT')}\\}$`),
    );
    const described = [...read('docs/container.md').matchAll(/`([A-Z]+_PORT)` \((\d+)\)/g)];
    assert.deepEqual(
      described.map(([, variable, preset]) => [variable, preset]).sort(),
      [...variables].sort(),
    );
  });

  it('starts the connector with a valid configuration', () => {
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
