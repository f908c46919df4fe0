/** Broker that rejects unknown principals and operations without rights. Its plain listener is for administration. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Authority, certificateAuthority } from '../../support/certificates.ts';
import { exclusiveKafka, type LocalKafka, type TestKafka } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

export const PASSWORD = 'kept-in-a-file';
/** Session lifetime in milliseconds after a login with scram-sha-512 (KIP-368). */
export const SESSION_MS = 5_000;
export const USERS = ['connector', 'auditor', 'replayer', 'operator', 'nobody'];

export interface SecuredKafka {
  readonly kafka: TestKafka & { readonly cluster: LocalKafka };
  readonly ca: Authority;
  /** PEM file of the authority. */
  readonly caFile: string;
  /** `host:port` of the listener with TLS and any mechanism, and of the listener with client certificates. */
  readonly sasl: string;
  readonly mtls: string;
  /** Writes a file into the directory of the certificates. Returns its path. */
  file(name: string, text: string): string;
}

export async function securedKafka(): Promise<SecuredKafka> {
  const directory = temporaryDirectory();
  const file = (name: string, text: string): string => {
    const place = path.join(directory, name);
    writeFileSync(place, text);
    return place;
  };
  const ca = certificateAuthority('Test CA');
  const broker = ca.issue({ name: 'broker', addresses: ['127.0.0.1'], hosts: ['broker.internal'] });
  const caFile = file('ca.pem', ca.certificate);
  const stores = {
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': file('broker.pem', broker.key + broker.certificate),
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': caFile,
  };
  const security = 'org.apache.kafka.common.security';
  const plainUsers = USERS.map((name) => `user_${name}="${PASSWORD}"`).join(' ');
  const kafka = await exclusiveKafka({
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      // Users of the plain listener: the tests themselves and the broker.
      'super.users': 'User:ANONYMOUS',
    },
    scramUsers: USERS.flatMap((name) =>
      (['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const).map((mechanism) => ({
        mechanism,
        name,
        password: PASSWORD,
      })),
    ),
    listeners: [
      {
        name: 'SECURED',
        protocol: 'SASL_SSL',
        properties: {
          ...stores,
          'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
          'plain.sasl.jaas.config': `${security}.plain.PlainLoginModule required ${plainUsers};`,
          'scram-sha-256.sasl.jaas.config': `${security}.scram.ScramLoginModule required;`,
          'scram-sha-512.sasl.jaas.config': `${security}.scram.ScramLoginModule required;`,
          'scram-sha-512.connections.max.reauth.ms': String(SESSION_MS),
          'oauthbearer.sasl.jaas.config': `${security}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
          // Accepts tokens without a signature. A session ends with its token.
          'oauthbearer.sasl.server.callback.handler.class': `${security}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler`,
          'oauthbearer.connections.max.reauth.ms': '3600000',
        },
      },
      { name: 'MUTUAL', protocol: 'SSL', properties: { ...stores, 'ssl.client.auth': 'required' } },
    ],
  });
  const { listeners } = kafka.cluster;
  const address = (name: string): string => listeners?.get(name)?.[0] ?? '';
  return {
    kafka,
    ca,
    caFile,
    sasl: address('SECURED'),
    mtls: address('MUTUAL'),
    file,
  };
}
