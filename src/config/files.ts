/** Options that contain files and secrets. Relative paths start from the configuration file's directory. */
import { resolve } from 'node:path';
import { systemReason } from '../../packages/client/src/base/shown-text.ts';
import { WatchedFiles } from '../../packages/client/src/base/watched-files.ts';
import { type JsonSchema, mappingSchema, textSchema } from './json-schema.ts';
import { OptionRefusal, type Origin, type Value, value } from './option.ts';
import { Secret } from './secret.ts';
import { mapping, several } from './values.ts';

const SOURCE: JsonSchema = { type: 'string', minLength: 1 };

/**
 * Option with a secret. Its value comes from the environment or a file, and is never shown.
 * @param hasLines allows several lines, for PEM
 */
export function secret(help: string, { hasLines = false } = {}): Value<Secret, ''> {
  return value({
    help,
    allowed:
      '{env: NAME} or {file: PATH}; an inline value also works, but do not keep secrets in configuration files',
    isSecret: true,
    schema: {
      anyOf: [
        { type: 'string' },
        { ...mappingSchema({ env: SOURCE, file: SOURCE }), minProperties: 1, maxProperties: 1 },
      ],
    },
    show: String,
    parse: (raw, origin) => readSecret(raw, origin, hasLines),
  });
}

function readSecret(
  raw: unknown,
  { env, directory, isFilledIn }: Origin,
  hasLines: boolean,
): Secret {
  if (typeof raw === 'string')
    return attempt('the text', () => Secret.of(raw, { isInline: !isFilledIn, hasLines }));
  const [[key = '', source] = [], ...more] = Object.entries(mapping(raw));
  if ((key !== 'env' && key !== 'file') || more.length > 0)
    throw new OptionRefusal('exactly one of env and file is required');
  if (typeof source !== 'string' || source === '')
    throw new OptionRefusal(`${key} must be a string`);
  if (key === 'file') {
    const path = resolve(directory, source);
    return attempt(`the file ${path}`, () => Secret.file(path, hasLines));
  }
  const found = Object.hasOwn(env, source) ? env[source] : undefined;
  if (found === undefined) throw new OptionRefusal(`the environment variable ${source} is not set`);
  return attempt(`the environment variable ${source}`, () => Secret.of(found, { hasLines }));
}

/** Option with the path of a PEM file that has this part. The typed configuration has the full path. */
export function pemFile(help: string, part: 'CERTIFICATE' | 'PRIVATE KEY'): Value<string, ''> {
  return value({
    help,
    allowed: 'the path of a PEM file',
    schema: textSchema(/\S/),
    parse(raw, { directory }) {
      if (typeof raw !== 'string' || raw.trim() === '') throw new OptionRefusal('');
      if (raw.includes('-----BEGIN'))
        throw new OptionRefusal('write the path of the file, not its content');
      const path = resolve(directory, raw);
      return attempt(`the file ${path}`, () => {
        new WatchedFiles([path], (textOf) => {
          if (!new RegExp(`^-----BEGIN [A-Z ]*${part}-----`, 'm').test(textOf(path)))
            throw new Error(
              `it has no PEM part "${part}"; keytool and openssl convert a Java keystore (docs/kafka-security.md)`,
            );
        }).readNow();
        return path;
      });
    },
  });
}

/** Option with PEM files of certificate authorities. */
export function certificates(help: string): Value<readonly string[], ''> {
  return several(
    pemFile(`${help} Default: those of Node.js.`, 'CERTIFICATE'),
    'paths of PEM files',
    [],
  );
}

function attempt<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new OptionRefusal(`${what}: ${systemReason(error)}`);
  }
}
