/** How the options of `service` fit together, and with the batches of the pipelines. */

import { isInTheClear } from '../hosts.ts';
import type { Partially } from '../load/draft.ts';
import type { Finding } from '../load/problem.ts';
import type { Config } from '../schema.ts';

export function serviceNetworkChecks({ service }: Partially<Config>): Finding[] {
  if (service === undefined) return [];
  const { baseUrl, allowHttp = [], proxy, tls } = service;
  const findings: Finding[] = [];
  const url = URL.parse(baseUrl ?? '');
  const allowed = allowHttp.filter((entry) => entry !== undefined);
  if (url !== null && isInTheClear(url, allowed)) {
    findings.push({
      path: ['service', 'baseUrl'],
      message: `by http the API key crosses the network for anybody on the way to read: write https://, or allow it by name, service.allowHttp: [${url.hostname}]`,
    });
  }
  if (proxy?.url === 'environment' || proxy?.url === 'none') {
    const written = [
      ...(proxy.credentials === undefined ? [] : ['credentials']),
      ...((proxy.noProxy ?? []).length === 0 ? [] : ['noProxy']),
    ];
    for (const name of written) {
      findings.push({
        path: ['service', 'proxy', name],
        message: `has no effect while service.proxy.url is ${proxy.url}: write the address of the proxy there, or remove this`,
      });
    }
  }
  // A file that is not there is reported for that.
  if (
    tls?.certificate !== undefined &&
    tls.key !== undefined &&
    (tls.certificate === '') !== (tls.key === '')
  ) {
    const [name, other] = tls.key === '' ? ['certificate', 'key'] : ['key', 'certificate'];
    findings.push({
      path: ['service', 'tls', name as string],
      message: `needs service.tls.${other} as well`,
    });
  }
  return findings;
}
