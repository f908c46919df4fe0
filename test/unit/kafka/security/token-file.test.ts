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

function source(current: () => Promise<string>) {
  const wait = async () => undefined;
  return new TokenSource({ ...fileTokens(current), logger: new RecordingLogger(), wait });
}

describe('a token in a file', () => {
  it('is read again for each login, also after an atomic replacement', async () => {
    const directory = temporaryDirectory();
    const at = (name: string) => path.join(directory, name);
    /** Replaces the link `..data`, as the kubelet does. */
    const write = (version: string, token: string) => {
      mkdirSync(at(version));
      writeFileSync(at(`${version}/token`), token);
      symlinkSync(version, at('..data_tmp'));
      renameSync(at('..data_tmp'), at('..data'));
    };
    symlinkSync('..data/token', at('token'));
    const [first, second] = [unsignedToken('first', 60_000), unsignedToken('second', 60_000)];
    write('1', first);
    const secret = Secret.file(at('token'));
    const tokens = source(() => secret.current());
    assert.equal(await tokens.token(), first);
    write('2', `${second}\n`);
    assert.equal(await tokens.token(), second);
    write('3', 'opaque');
    assert.equal(await tokens.token(), 'opaque');
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
});
