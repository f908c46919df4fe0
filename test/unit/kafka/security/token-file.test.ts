import assert from 'node:assert/strict';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { Secret } from '../../../../src/config/secret.ts';
import { fileTokens } from '../../../../src/kafka/security/token-file.ts';
import { TokenSource } from '../../../../src/kafka/security/token-source.ts';
import { unsignedToken } from '../../../integration/kafka/token-server.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** Writes files as the kubelet does: into a new directory, to which a link is renamed. */
function projectedVolume() {
  const directory = temporaryDirectory();
  const at = (...parts: string[]) => path.join(directory, ...parts);
  let count = 0;
  const write = (token: string) => {
    const version = `..${++count}`;
    mkdirSync(at(version));
    writeFileSync(at(version, 'token'), token);
    symlinkSync(version, at('..data_tmp'));
    renameSync(at('..data_tmp'), at('..data'));
  };
  symlinkSync(path.join('..data', 'token'), at('token'));
  return { write, file: at('token') };
}

function source(current: () => Promise<string>) {
  const wait = async () => undefined;
  return new TokenSource({ ...fileTokens(current), logger: new RecordingLogger(), wait });
}

describe('a token in a file', () => {
  it('is read again for each login, also after an atomic replacement', async () => {
    const { write, file } = projectedVolume();
    const [first, second] = [unsignedToken('first', 60_000), unsignedToken('second', 60_000)];
    write(first);
    const secret = Secret.file(file);
    const tokens = source(() => secret.current());
    assert.equal(await tokens.token(), first);
    write(`${second}\n`);
    assert.equal(await tokens.token(), second);
    write(' ');
    assert.equal(await tokens.token(), second);
  });

  for (const [what, token, message] of [
    ['has expired', unsignedToken('me', -60_000), /the token expired at 20\d\d-.*Z; replace/],
    ['is too long', 'x'.repeat(65_537), /the token has 65537 characters, more than 65536/],
    ['is not one token', 'two tokens', /the text is not a token/],
  ] as const)
    it(`is refused if it ${what}`, async () => {
      const error = await source(async () => token)
        .token()
        .catch((reason) => reason);
      assert.match(error.message, message);
      assert.match(error.message, /kafka\.sasl\.oauth\.token$/);
      assert.ok(error.retriable && !error.message.includes(token));
    });

  it('need not be a JWT', async () => {
    assert.equal(await source(async () => 'opaque').token(), 'opaque');
  });
});
