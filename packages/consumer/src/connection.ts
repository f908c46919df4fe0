/** Connection to the brokers and log of a consumer, from its options. */
import type { Logger } from '../../../src/core/ports/telemetry.ts';
import { type ConnectOptions, Security } from '../../../src/kafka/index.ts';
import { isUnencrypted } from '../../client/src/http/web-address.ts';
import type { BrokerLogin, ConsumerLog, DecisionConsumerOptions } from './options.ts';

type Connected = Pick<
  DecisionConsumerOptions,
  'brokers' | 'clientId' | 'decisions' | 'deadLetters' | 'tls' | 'sasl'
>;

/**
 * Rejects options that would send a secret unencrypted to another machine, as the connector does.
 * @throws TypeError that names the option
 */
export function assertSecrecy({
  brokers,
  tls,
  sasl,
  registry,
}: Pick<DecisionConsumerOptions, 'brokers' | 'tls' | 'sasl' | 'registry'>): void {
  for (const broker of brokers) {
    if (!URL.canParse(`http://${broker}`))
      throw new TypeError(`brokers: ${JSON.stringify(broker)} is not host:port`);
    if (sasl?.mechanism !== 'plain' || tls !== undefined || sasl.insecureWithoutTls) continue;
    if (isUnencrypted(`http://${broker}`))
      throw new TypeError(
        `sasl plain sends the password to ${broker} unencrypted: set tls or, on a trusted network, sasl.insecureWithoutTls`,
      );
  }
  if (registry === undefined) return;
  const { url, password, token, insecureWithoutTls } = registry;
  const address = URL.parse(url);
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password)
    throw new TypeError(
      'registry.url must begin with http:// or https://, and must not contain user and password, which have their own options',
    );
  if ((password ?? token) !== undefined && !insecureWithoutTls && isUnencrypted(url))
    throw new TypeError(
      'registry: http sends the credentials unencrypted: write https:// or, on a trusted network, registry.insecureWithoutTls',
    );
}

export function brokerConnection(options: Connected, logger: Logger): ConnectOptions {
  const { brokers, clientId = 'content-review-consumer', tls, sasl } = options;
  const topics = [options.decisions, ...(options.deadLetters ? [options.deadLetters] : [])];
  const security = {
    tls: tls === undefined ? undefined : { ca: [], ...(tls === true ? {} : tls) },
    sasl: sasl && { ...sasl, password: passwordOf(sasl) },
  };
  return {
    brokers,
    clientId,
    uses: new Map(topics.map((topic) => [topic, 'READ'])),
    ...((tls ?? sasl) && { security: new Security(security, logger, () => undefined) }),
  };
}

const passwordOf =
  ({ password }: BrokerLogin) =>
  async () =>
    typeof password === 'string' ? password : await password();

/** Returns a logger that passes every line to one function. Failures of the function become process warnings. */
export function loggerOf(log: ConsumerLog, bound: object = {}): Logger {
  const at = (level: Parameters<ConsumerLog>[0]) => (fields: object, message: string) => {
    const call = async () => await log(level, message, { ...bound, ...fields });
    call().catch((error) =>
      warnOfProcess('error', 'the log function of the consumer failed', { error }),
    );
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => loggerOf(log, { ...bound, ...fields }),
  };
}

export const warnOfProcess: ConsumerLog = (level, message, fields) => {
  if (level !== 'warn' && level !== 'error') return;
  const { error, ...rest } = fields as { readonly error?: unknown };
  const why = error instanceof Error ? error.message : error;
  process.emitWarning(`${message} ${JSON.stringify({ ...rest, error: why })}`, {
    type: 'ContentReviewConsumer',
  });
};
