/** What a configuration says about where the client of the service may go, and how. */

import type { Config } from '../../config/schema.ts';
import type { Secret } from '../../config/secret.ts';
import type { ProxySetting } from '../../http/proxy.ts';
import type { NetworkOptions } from '../../service/options.ts';

interface NetworkSettings
  extends Required<
    Pick<
      NetworkOptions,
      'allowHttp' | 'transferHosts' | 'allowPrivate' | 'uploadHeaders' | 'downloadHeaders' | 'tls'
    >
  > {
  readonly maxResultBytes: number;
  readonly proxy: ProxySetting;
}

export function networkSettings({
  allowHttp,
  transfer,
  proxy,
  tls,
}: Config['service']): NetworkSettings {
  const { credentials } = proxy;
  return {
    allowHttp,
    transferHosts: transfer.hosts,
    allowPrivate: transfer.allowPrivate,
    maxResultBytes: transfer.maxResultBytes,
    uploadHeaders: currentValues(transfer.uploadHeaders),
    downloadHeaders: currentValues(transfer.downloadHeaders),
    proxy:
      proxy.url === 'environment' || proxy.url === 'none'
        ? proxy.url
        : {
            url: proxy.url,
            noProxy: proxy.noProxy,
            ...(credentials === undefined ? {} : { credentials: () => credentials.current() }),
          },
    tls: {
      ca: tls.ca,
      certificate: tls.certificate,
      key: tls.key,
    },
  };
}

function currentValues(
  headers: Readonly<Record<string, Secret>>,
): Record<string, () => Promise<string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, secret]) => [name, () => secret.current()]),
  );
}
