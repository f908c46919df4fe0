/** Checks of the cluster: its brokers can be reached. */

import type { KafkaParts } from './check.ts';
import { type DoctorCheck, failed, messageOf, together, warning } from './check.ts';

export function kafkaChecks({ addresses, inspector, login }: KafkaParts): DoctorCheck[] {
  return [
    {
      name: 'kafka.connect',
      about: `kafka.brokers ${addresses.join(',')}`,
      async run() {
        const failures = await Promise.all(
          addresses.map(async (address) => {
            try {
              return void (await inspector.connect(address));
            } catch (error) {
              return addresses.length === 1 ? messageOf(error) : `${address}: ${messageOf(error)}`;
            }
          }),
        );
        const found = failures.filter((failure) => failure !== undefined);
        if (found.length === addresses.length) return failed([...new Set(found)].join('; '));
        return together(
          `connected by ${login()}`,
          found.map((one) => warning(one, 'correct kafka.brokers, or start that broker')),
        );
      },
    },
    {
      name: 'kafka.brokers',
      about: 'the brokers of the cluster',
      needs: ['kafka.connect'],
      async run() {
        const all = await inspector.brokers();
        const named = all.map(({ id, address }) => `${id} at ${address}`);
        const problems = all.map(
          ({ id, address, failure }) =>
            failure !== undefined &&
            failed(
              `broker ${id} at ${address}: ${failure}`,
              'make its advertised.listeners address reachable from here, and name the listener for this network in kafka.brokers',
            ),
        );
        return together(`${named.join(', ')}: all respond`, problems);
      },
    },
  ];
}
