import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { saslLogin } from '../../../../src/kafka/security/login.ts';
import { SecurityError } from '../../../../src/kafka/security/security-error.ts';

const PASSWORD = 'pässwörd-1';
const SALT = 's=c2FsdA==';

type Answer = (said: string) => string;
const nonceIn = (said: string): string => /r=(.*)$/.exec(said)?.[1] ?? '';

/** Logs in with scram-sha-256 at a broker that returns these responses, one for each message. */
async function logIn(
  answers: readonly Answer[],
  username = 'alice',
): Promise<{ readonly said: string[]; readonly error: unknown }> {
  const said: string[] = [];
  const { authenticationProvider } = saslLogin(
    { mechanism: 'scram-sha-256', username, password: async () => PASSWORD },
    undefined,
  );
  const provider = authenticationProvider({
    host: 'broker',
    port: 9093,
    saslAuthenticate: async ({ request, response }) => {
      const message = (await request.encode()).subarray(4).toString();
      const answer = Buffer.from(answers[said.push(message) - 1]?.(message) ?? '');
      const framed = Buffer.alloc(4 + answer.length);
      framed.writeInt32BE(answer.length);
      answer.copy(framed, 4);
      return response.parse(await response.decode(framed));
    },
  });
  const error = await provider.authenticate().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { said, error };
}

describe('a login with scram', () => {
  it('encodes commas and equals signs in a name as in RFC 5802', async () => {
    assert.match((await logIn([() => ''], 'a,b=c')).said[0] ?? '', /^n,,n=a=2Cb=3Dc,r=/);
  });

  const strange: readonly (readonly [string, readonly Answer[], RegExp])[] = [
    ['a message that is not SCRAM', [() => 'garbage'], /the response is not a SCRAM challenge/],
    ['nothing', [() => ''], /the response is not a SCRAM challenge/],
    ['no salt', [(said) => `r=${nonceIn(said)}x,i=4096`], /the response is not a SCRAM challenge/],
    [
      'the nonce of another client',
      [() => `r=other,${SALT},i=4096`],
      /the broker's nonce does not begin with the client's nonce/,
    ],
    [
      'too few rounds',
      [(said) => `r=${nonceIn(said)}x,${SALT},i=1`],
      /requires 1 rounds of hashing/,
    ],
    [
      'too many rounds',
      [(said) => `r=${nonceIn(said)}x,${SALT},i=2000000000`],
      /requires 2000000000 rounds of hashing/,
    ],
    [
      'a wrong server signature',
      [(said) => `r=${nonceIn(said)}x,${SALT},i=4096`, () => 'v=AAAA'],
      /the broker's signature does not match the password/,
    ],
  ];
  for (const [what, answers, message] of strange)
    it(`fails if the broker sends ${what}, with a message without the password`, async () => {
      const { error } = await logIn(answers);
      assert.ok(error instanceof SecurityError);
      assert.match(error.message, message);
      assert.match(
        error.message,
        /^the login at the broker broker:9093 with scram-sha-256 failed: /,
      );
      assert.ok(!error.message.includes(PASSWORD));
      assert.equal(error.retriable, false);
    });
});
