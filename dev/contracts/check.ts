/**
 * The gate: npm run contracts:check. Compares contracts/ with what was published last (contracts/published) and fails when
 * something there breaks those who rely on it. `--publish` takes over, after that, what there is now as published.
 */
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { asyncApiBreaks } from './asyncapi-breaks.ts';
import { avroBreaks } from './avro-breaks.ts';
import type { Break } from './break.ts';
import { CONTRACTS, CONTRACTS_DIRECTORY, type Contract } from './contracts.ts';
import { jsonSchemaBreaks } from './json-schema-breaks.ts';
import { protobufBreaks } from './protobuf-breaks.ts';

const ASYNC_API = 'asyncapi.yaml';

interface FileBreak extends Break {
  readonly file: string;
}

/** Breaking changes of a published file below contracts/. */
function breaksOf(
  contract: Contract | undefined,
  file: string,
  published: string,
  current: string,
): Break[] {
  if (file.endsWith('.proto')) return protobufBreaks(published, current);
  const [older, newer] = [JSON.parse(published), JSON.parse(current)];
  return file.endsWith('.avsc')
    ? avroBreaks(older, newer)
    : jsonSchemaBreaks(older, newer, contract?.direction ?? 'output');
}

/** @param directory of contracts/. @returns every break of every published version */
export function contractBreaks(directory: URL = CONTRACTS_DIRECTORY): FileBreak[] {
  const published = new URL('published/', directory);
  return readdirSync(published).flatMap((version) => {
    const baseline = new URL(`${version}/`, published);
    return filesOf(baseline).flatMap((file): FileBreak[] => {
      const now = new URL(file, directoryOf(version, directory));
      const named = `contracts/${version === 'v1' ? '' : `${version}/`}${file}`;
      if (!existsSync(now))
        return [{ file: named, at: '/', what: 'the file was removed, and is published' }];
      const contract = CONTRACTS.find(({ name }) => new RegExp(`(^|/)${name}\\.`).test(file));
      const [older, newer] = [
        readFileSync(new URL(file, baseline), 'utf8'),
        readFileSync(now, 'utf8'),
      ];
      const breaks =
        file === ASYNC_API
          ? asyncApiBreaks(
              { text: older, directory: baseline },
              { text: newer, directory: new URL('./', now) },
            )
          : breaksOf(contract, file, older, newer);
      return breaks.map((one) => ({ ...one, file: named }));
    });
  });
}

/** v1 stands in contracts/ itself; later versions will have folders. */
const directoryOf = (version: string, directory: URL): URL =>
  version === 'v1' ? directory : new URL(`${version}/`, directory);

/** The schemas of one version and the document of its topics, without its examples. */
function filesOf(directory: URL): string[] {
  const files = readdirSync(directory).filter(
    (file) => file.endsWith('.schema.json') || file === ASYNC_API,
  );
  for (const [folder, ending] of [
    ['avro', '.avsc'],
    ['protobuf', '.proto'],
  ] as const) {
    const inside = new URL(`${folder}/`, directory);
    if (existsSync(inside))
      files.push(
        ...readdirSync(inside)
          .filter((file) => file.endsWith(ending))
          .map((file) => `${folder}/${file}`),
      );
  }
  return files.sort();
}

/** Takes what there is now as published. */
function publish(): void {
  const published = new URL('published/', CONTRACTS_DIRECTORY);
  for (const version of [
    'v1',
    ...readdirSync(CONTRACTS_DIRECTORY).filter((name) => /^v\d+$/.test(name)),
  ]) {
    const from = directoryOf(version, CONTRACTS_DIRECTORY);
    for (const file of filesOf(from))
      cpSync(new URL(file, from), new URL(`${version}/${file}`, published));
  }
}

function main(args: readonly string[]): number {
  const wrong = args.find((arg) => arg !== '--publish');
  if (wrong !== undefined) {
    process.stderr.write(`contracts:check knows only --publish, not ${JSON.stringify(wrong)}\n`);
    return 2;
  }
  const breaks = contractBreaks();
  if (breaks.length > 0) {
    for (const { file, at, what } of breaks) process.stderr.write(`${file}: ${at} ${what}\n`);
    process.stderr.write(
      `\n${breaks.length === 1 ? 'One change breaks' : `${breaks.length} changes break`} a published contract. Take it back, ` +
        'or make a new major version beside this one: docs/contracts.md, "How to change a contract".\n',
    );
    return 1;
  }
  if (args.includes('--publish')) publish();
  process.stdout.write(
    args.includes('--publish')
      ? 'contracts/ is published\n'
      : 'contracts/ breaks nothing that was published\n',
  );
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
