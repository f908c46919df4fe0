import { isUnencrypted } from '../../../packages/client/src/http/web-address.ts';
import { certificates, pemFile, secret } from '../files.ts';
import { ADDRESS, parseAddress } from '../hosts.ts';
import { group, OptionRefusal, value } from '../option.ts';
import { choice, flag, mapOf, optional, several, text } from '../values.ts';

const PLAIN_TEXT = { allowed: 'a string', pattern: /^(?=.*\S)\P{Cc}*$/u };

const tls = group(
  'Encrypted connections to the brokers. Paths of PEM files are relative to the configuration file; each new connection uses their current content.',
  {
    enabled: flag(
      'Whether the listener of the brokers uses TLS (security protocol SSL or SASL_SSL).',
      false,
    ),
    ca: certificates("Authorities that issued the brokers' certificates."),
    certificate: optional(
      pemFile(
        'Client certificate, followed by its intermediate certificates, for brokers that require one (mTLS).',
        'CERTIFICATE',
      ),
    ),
    key: optional(pemFile('Private key of `certificate`.', 'PRIVATE KEY')),
    serverName: optional(
      text({
        help: "Name in the brokers' certificates, if it differs from the hosts in `brokers`.",
        allowed: 'a host name',
        pattern: /^[A-Za-z0-9]([A-Za-z0-9._-]{0,252})$/,
      }),
    ),
  },
);

const oauth = group('Source of the tokens for oauthbearer: a token endpoint, or a file.', {
  tokenEndpoint: optional(
    value({
      help: 'Address of the token endpoint; http is allowed on this machine only.',
      allowed: 'an https:// address without query, fragment or user',
      schema: ADDRESS,
      parse: parseTokenEndpoint,
    }),
  ),
  clientId: optional(text({ help: 'Client id at the token endpoint.', ...PLAIN_TEXT })),
  clientSecret: optional(secret('Client secret at the token endpoint.')),
  clientAssertion: optional(
    secret(
      'Signed JWT, or private key in PEM (RSA or EC P-256) to sign JWTs. Replaces `clientSecret` (private_key_jwt).',
      { hasLines: true },
    ),
  ),
  token: optional(secret('Token, read again for each login. Replaces the token endpoint.')),
  parameters: mapOf(
    text({
      help: 'Further parameters of the token request, such as {scope: kafka}.',
      allowed: 'a string',
    }),
    'a mapping of strings',
    (name) => (RESERVED.has(name) ? 'it has its own option, or a fixed value' : undefined),
  ),
  extensions: mapOf(
    text({
      help: 'SASL extensions sent to the brokers with the token, such as {logicalCluster: lkc-1}.',
      allowed: 'a string of printable ASCII',
      pattern: /^[\x20-\x7e\t\r\n]*$/,
    }),
    'a mapping from names, which consist of letters, to strings',
    (name) =>
      name !== 'auth' && /^[A-Za-z]+$/.test(name)
        ? undefined
        : 'a name must consist of letters, and auth is reserved',
  ),
  ca: certificates("Authorities that issued the token endpoint's certificate."),
});

const RESERVED = new Set([
  ...['grant_type', 'client_id', 'client_secret'],
  ...['client_assertion', 'client_assertion_type'],
]);

function parseTokenEndpoint(raw: unknown): string {
  const { href } = parseAddress(raw, 'clientId and clientSecret');
  if (isUnencrypted(href)) throw new OptionRefusal('http would expose the token');
  return href;
}

export const kafkaOptions = group('The Kafka cluster of the source, the journal and the outputs.', {
  brokers: several(
    text({
      help: 'Bootstrap brokers. Their names are resolved again when no known broker responds.',
      allowed: 'host:port',
      check: brokerObjection,
    }),
    'host:port',
  ),
  clientId: text({
    help: "Name of this client in the brokers' logs and quotas; members of the group append host and http.port.",
    allowed: '1 to 200 characters from [A-Za-z0-9._-]',
    fallback: 'content-review-connector',
    pattern: /^[A-Za-z0-9._-]{1,200}$/,
  }),
  rack: optional(
    text({
      help: 'Rack (zone) of this process, to read from replicas in the same rack (KIP-392). The brokers require broker.rack and replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector.',
      allowed: 'a string of at most 200 characters',
      pattern: /^(?=.*\S)\P{Cc}{1,200}$/u,
    }),
  ),
  tls,
  sasl: group('Login (SASL), for brokers that require one.', {
    mechanism: choice('Login mechanism; the brokers must offer it.', [
      'none',
      'plain',
      'scram-sha-256',
      'scram-sha-512',
      'oauthbearer',
      'aws-msk-iam',
    ]),
    username: optional(text({ help: 'User name for PLAIN and SCRAM.', ...PLAIN_TEXT })),
    password: optional(secret('Password for PLAIN and SCRAM.')),
    insecureWithoutTls: flag(
      'Allows plain and oauthbearer to send their secret unencrypted to other machines.',
      false,
    ),
    oauth,
  }),
});

function brokerObjection(broker: string): string | undefined {
  const [, port] = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(broker) ?? [];
  if (port === undefined)
    return broker.includes('://') ? 'write host:port, without a scheme' : 'write host:port';
  return Number(port) >= 1 && Number(port) <= 65_535
    ? undefined
    : 'the port must be from 1 to 65535';
}
