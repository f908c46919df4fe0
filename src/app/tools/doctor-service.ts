/** The service as the doctor checks it: the connector's own client, and the certificates in use. */
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { proxyChooser, proxyRules } from '../../../packages/client/src/http/proxy.ts';
import type { ServiceClient } from '../../../packages/client/src/service/client.ts';
import type { Config } from '../../config/schema.ts';
import type { CertificateEnd } from '../../tools/doctor/check.ts';
import { clientSettings, toolService } from '../clients/service.ts';
import { requestUnknown } from '../service-probe.ts';

export function doctorService(config: Pick<Config, 'service'>) {
  const url = new URL(config.service.baseUrl);
  let aheadMs: number | undefined;
  let client: ServiceClient | undefined;
  let proxy: URL | undefined;
  let refusal: unknown;
  try {
    client = toolService(config, {
      answeredAt: (dateMs, hereMs) => {
        // A date has whole seconds: half of one is lost on average.
        aheadMs = dateMs + 500 - hereMs;
      },
    });
    const rules = proxyRules(clientSettings(config.service).proxy, process.env);
    proxy = proxyChooser(rules)(url)?.url;
  } catch (error) {
    refusal = error;
  }
  const address = url.origin + url.pathname.replace(/\/+$/, '');
  const isDirect = url.protocol === 'https:' && proxy === undefined;
  return {
    /** undefined when the configuration allows none: `ask` rejects with the reason. */
    client,
    certificates: async () => (isDirect ? await certificatesOf(url, config.service) : []),
    parts: {
      address: proxy === undefined ? address : `${address} through proxy ${proxy.host}`,
      async ask(kind: string, signal: AbortSignal) {
        if (client === undefined) throw refusal;
        await requestUnknown(client, kind, signal);
      },
      clockAheadMs: () => aheadMs,
    },
  };
}

async function certificatesOf(
  url: URL,
  { tls, timeouts }: Config['service'],
): Promise<CertificateEnd[]> {
  const files: [string, string][] = tls.ca.map((path) => ['an authority in service.tls.ca', path]);
  if (tls.certificate !== undefined)
    files.push(["this client's certificate (service.tls.certificate)", tls.certificate]);
  const own = files.map(async ([whose, path]) => ({
    whose,
    endsMs: Date.parse(new X509Certificate(await readFile(path)).validTo),
  }));
  // The request for an unknown object reports why there is no connection.
  const endsMs = await servedUntil(url, timeouts.connectMs).catch(() => undefined);
  return [
    ...(await Promise.all(own)),
    ...(endsMs === undefined ? [] : [{ whose: "the service's certificate", endsMs }]),
  ];
}

/** End of the certificate that the server presents, trusted or not. */
async function servedUntil({ hostname, port }: URL, timeoutMs: number): Promise<number> {
  const host = hostname.replace(/^\[|\]$/g, '');
  const servername = isIP(host) === 0 ? host : '';
  const socket = connect({
    host,
    port: Number(port || 443),
    servername,
    rejectUnauthorized: false,
  });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) });
    return Date.parse(socket.getPeerX509Certificate()?.validTo ?? '');
  } finally {
    socket.destroy();
  }
}
