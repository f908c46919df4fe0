/** How the options of `kafka` fit together: what is missing, what contradicts, and what has no effect. */
import type { Partially } from '../load/draft.ts';
import type { Path } from '../load/path.ts';
import type { Finding } from '../load/problem.ts';
import { isLoopback } from '../loopback.ts';
import type { Config } from '../schema.ts';

type Kafka = Partially<Config['kafka']>;

export function kafkaChecks(kafka: Kafka | undefined): Finding[] {
  if (kafka === undefined) return [];
  return [...tlsChecks(kafka), ...saslChecks(kafka), ...plainTextChecks(kafka)];
}

function tlsChecks({ tls = {} }: Kafka): Finding[] {
  const path = ['kafka', 'tls'];
  const written = writtenIn(tls, ['enabled', 'minVersion']);
  if (tls.enabled === false)
    return written.map((name) => ({
      path: [...path, name],
      message: 'has no effect while kafka.tls.enabled is false: set it to true, or remove this',
    }));
  const findings: Finding[] = [];
  const needs = (what: string, other: string) => {
    if (written.includes(what) && !written.includes(other))
      findings.push({ path: [...path, what], message: `needs kafka.tls.${other} as well` });
  };
  // A file that is not there, or not what it should be, is reported for that.
  if (tls.certificate !== undefined && tls.key !== undefined) {
    needs('certificate', 'key');
    needs('key', 'certificate');
    needs('keyPassphrase', 'key');
  }
  if (tls.insecureSkipVerification === true)
    for (const name of ['ca', 'serverName'].filter((one) => written.includes(one)))
      findings.push({
        path: [...path, name],
        message:
          'is not looked at while kafka.tls.insecureSkipVerification is true: remove one of the two',
      });
  return findings;
}

const LOGIN = ['username', 'password'];
const OAUTH = ['tokenEndpoint', 'clientId', 'clientSecret'];

function saslChecks({ sasl = {} }: Kafka): Finding[] {
  const { mechanism } = sasl;
  if (mechanism === undefined) return [];
  const path: Path = ['kafka', 'sasl'];
  const login = writtenIn(sasl, ['mechanism', 'insecureWithoutTls', 'oauth']).map(
    (name): Path => [...path, name],
  );
  const oauth = writtenIn(sasl.oauth ?? {}, ['timeoutMs']).map(
    (name): Path => [...path, 'oauth', name],
  );
  const strangers =
    mechanism === 'none' ? [...login, ...oauth] : mechanism === 'oauthbearer' ? login : oauth;
  const needed =
    mechanism === 'none'
      ? []
      : mechanism === 'oauthbearer'
        ? missingIn(sasl.oauth ?? {}, OAUTH).map((name): Path => [...path, 'oauth', name])
        : missingIn(sasl, LOGIN).map((name): Path => [...path, name]);
  return [
    ...strangers.map((option) => ({
      path: option,
      message:
        mechanism === 'none'
          ? 'has no effect while kafka.sasl.mechanism is none: choose a mechanism, or remove this'
          : `is not for kafka.sasl.mechanism ${mechanism}: remove it, or choose another mechanism`,
    })),
    ...needed.map((option) => ({
      path: option,
      message: `required for kafka.sasl.mechanism ${mechanism}`,
    })),
  ];
}

/** PLAIN sends the password, OAUTHBEARER the token: anybody on the way could take it. SCRAM sends neither, and is only warned of. */
function plainTextChecks({ brokers = [], tls, sasl }: Kafka): Finding[] {
  const mechanism = sasl?.mechanism;
  if (mechanism !== 'plain' && mechanism !== 'oauthbearer') return [];
  if (tls?.enabled !== false || sasl?.insecureWithoutTls !== false) return [];
  const beyond = brokers.find((broker) => !isLoopback(broker?.replace(/:\d+$/, '') ?? ''));
  if (beyond === undefined) return [];
  const what = mechanism === 'plain' ? 'the password' : 'the token';
  return [
    {
      path: ['kafka', 'sasl', 'mechanism'],
      message: `${mechanism} sends ${what} to ${beyond} for anybody on the way to read: set kafka.tls.enabled to true; where the network is safe, kafka.sasl.insecureWithoutTls`,
    },
  ];
}

/** Of a secret the draft tells only whether it is written: `{}`. */
const SECRETS = new Set(['password', 'keyPassphrase', 'clientSecret']);

/** Names of options in a group that have another value than none, but for those named. */
function writtenIn(group: object, except: readonly string[]): string[] {
  return Object.entries(group).flatMap(([name, value]) =>
    except.includes(name) || isNothing(name, value) ? [] : [name],
  );
}

/** Those of `names` that were left out. One that is undefined and no secret is wrong for another reason, and reported for that. */
function missingIn(group: object, names: readonly string[]): string[] {
  return names.filter((name) => {
    const value = (group as Record<string, unknown>)[name];
    return value === '' || (value === undefined && SECRETS.has(name));
  });
}

function isNothing(name: string, value: unknown): boolean {
  if (value === undefined || value === '' || value === false) return true;
  return (
    !SECRETS.has(name) &&
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length === 0
  );
}
