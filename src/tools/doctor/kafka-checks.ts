/** The cluster: whether its brokers can be reached, speak what the connector speaks, and allow its timeouts. */

import { certificateFindings } from './certificates.ts';
import { type Check, type Finding, failed, skipped, together, warning } from './check.ts';
import type { DoctorParts, PipelineParts } from './parts.ts';

export interface KafkaChecks {
  readonly checks: readonly Check[];
  /** What everything in Kafka needs. */
  readonly reached: Check;
}

export function kafkaChecks({ kafka, pipelines, clock }: DoctorParts): KafkaChecks {
  const { addresses, probe, certificates } = kafka;
  const reached: Check = {
    name: 'kafka.connect',
    about: `kafka.brokers ${addresses.join(',')}`,
    async run() {
      const failures = await Promise.all(
        addresses.map((address) => probe.connect(address).then(() => undefined, messageOf)),
      );
      const findings = failures.flatMap((why, n) =>
        why === undefined ? [] : [{ address: addresses[n] ?? '', why }],
      );
      if (findings.length === addresses.length)
        return failed(
          [
            ...new Set(
              findings.map(({ address, why }) =>
                addresses.length === 1 ? why : `${address}: ${why}`,
              ),
            ),
          ].join('; '),
        );
      return together(
        `connected by ${kafka.login()}`,
        findings.map(({ address, why }) =>
          warning(`${address}: ${why}`, 'correct kafka.brokers, or start that broker'),
        ),
      );
    },
  };
  const brokers: Check = {
    name: 'kafka.brokers',
    about: 'the brokers of the cluster',
    needs: [reached],
    async run() {
      const all = await probe.brokers();
      const findings = all.flatMap(({ id, address, failure, missing }): Finding[] => {
        if (failure !== undefined)
          return [
            failed(
              `broker ${id} at ${address}: ${failure}`,
              'the address that it advertises (advertised.listeners) must be reachable from here, and kafka.brokers must name the listener meant for this network',
            ),
          ];
        if (missing.length === 0) return [];
        return [
          failed(
            `broker ${id} does not speak ${missing.join(', ')}`,
            'use brokers of Kafka 0.11 to 4',
          ),
        ];
      });
      return together(
        `${all.map(({ id, address }) => `${id} at ${address}`).join(', ')}: all answer, and speak what is needed`,
        findings,
      );
    },
  };
  const settings: Check = {
    name: 'kafka.settings',
    about: "the brokers' limits",
    needs: [reached],
    run: () => limits(probe, pipelines),
  };
  const checks = [reached, brokers, settings];
  if (certificates !== undefined) {
    checks.push({
      name: 'kafka.certificates',
      about: 'certificates for Kafka',
      needs: [brokers],
      run: async () => certificateFindings(certificates(), clock.now()),
    });
  }
  return { checks, reached };
}

const SETTINGS = [
  'transaction.max.timeout.ms',
  'group.min.session.timeout.ms',
  'group.max.session.timeout.ms',
  'transaction.state.log.replication.factor',
  'transaction.state.log.min.isr',
];

async function limits(
  probe: DoctorParts['kafka']['probe'],
  pipelines: readonly PipelineParts[],
): Promise<Finding> {
  const settings = await probe.brokerSettings(SETTINGS);
  if (settings === undefined)
    return skipped(
      'cannot be read without DESCRIBE_CONFIGS on the cluster, which the connector does not need; --round-trip tries the transaction timeout',
    );
  const number = (name: string): number | undefined => {
    const text = settings.get(name);
    return text === undefined || text === '' ? undefined : Number(text);
  };
  const [maxTransactionMs, minSessionMs, maxSessionMs] = SETTINGS.slice(0, 3).map(number);
  const findings: Finding[] = [];
  for (const { name, transactionTimeoutMs, sessionTimeoutMs } of pipelines) {
    if (maxTransactionMs !== undefined && transactionTimeoutMs > maxTransactionMs)
      findings.push(
        failed(
          `kafka.transactionTimeout of pipeline ${name} is ${transactionTimeoutMs} ms, transaction.max.timeout.ms of the brokers ${maxTransactionMs}`,
          'lower the one, or raise the other',
        ),
      );
    if (minSessionMs !== undefined && sessionTimeoutMs < minSessionMs)
      findings.push(
        failed(
          `kafka.sessionTimeout of pipeline ${name} is ${sessionTimeoutMs} ms, group.min.session.timeout.ms of the brokers ${minSessionMs}`,
          'raise kafka.sessionTimeout',
        ),
      );
    if (maxSessionMs !== undefined && sessionTimeoutMs > maxSessionMs)
      findings.push(
        failed(
          `kafka.sessionTimeout of pipeline ${name} is ${sessionTimeoutMs} ms, group.max.session.timeout.ms of the brokers ${maxSessionMs}`,
          'lower kafka.sessionTimeout',
        ),
      );
  }
  return together(
    `transactions may take ${maxTransactionMs} ms, sessions ${minSessionMs} to ${maxSessionMs} ms: the configured timeouts fit`,
    findings,
  );
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
