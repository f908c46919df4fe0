/** The service as the doctor asks it: with the connector's own client, and a look at who answers. */
import { randomUUID, X509Certificate } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { Config } from '../../config/schema.ts';
import { proxyChooser, proxyRules } from '../../http/proxy.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Certificate, ServiceParts, ServiceQuestion } from '../../tools/doctor/index.ts';
import { networkSettings } from '../clients/service-network.ts';
import { toolService } from './tool-service.ts';

export interface DoctorService {
  readonly parts: ServiceParts;
  /** undefined when the configuration makes none: the first check says why. */
  readonly client: ServiceClient | undefined;
}

export function doctorService(config: Pick<Config, 'service'>): DoctorService {
  const url = new URL(config.service.baseUrl);
  const address = url.origin + url.pathname.replace(/\/+$/, '');
  let aheadMs: number | undefined;
  let client: ServiceClient;
  let proxy: URL | undefined;
  try {
    client = toolService(config, {
      answeredAt: (dateMs, hereMs) => {
        // To the second: half of it is lost on average.
        aheadMs = dateMs + 500 - hereMs;
      },
    });
    proxy = proxyChooser(proxyRules(networkSettings(config.service).proxy, process.env))(url)?.url;
  } catch (error) {
    const refuse = () => Promise.reject(error);
    const parts = {
      address,
      proxy: undefined,
      lookUp: refuse,
      certificates: undefined,
      ask: refuse,
      clockAheadMs: () => undefined,
    };
    return { parts, client: undefined };
  }
  return {
    client,
    parts: {
      address,
      proxy: proxy?.host,
      lookUp: () => addressesOf(proxy ?? url),
      certificates:
        url.protocol === 'https:' && proxy === undefined
          ? () => certificatesOf(url, config.service)
          : undefined,
      ask: (question, signal) => ask(client, question, signal),
      clockAheadMs: () => aheadMs,
    },
  };
}

async function addressesOf({ hostname }: URL): Promise<string[]> {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** Ids as the service makes them (service-interface.md 2.1), that it never made. */
async function ask(
  client: ServiceClient,
  question: ServiceQuestion,
  signal: AbortSignal,
): Promise<void> {
  const id = randomUUID();
  if (question === 'batch') await client.getBatch(id, { signal });
  else if (question === 'import') await client.getImport(id, { signal });
  else await client.getDecision(id, { signal });
}

async function certificatesOf(
  url: URL,
  { tls, timeouts }: Config['service'],
): Promise<Certificate[]> {
  const files: [string, string][] = tls.ca.map((path) => ['an authority in service.tls.ca', path]);
  if (tls.certificate !== undefined)
    files.push(["this client's certificate (service.tls.certificate)", tls.certificate]);
  const own = files.map(async ([whose, path]) => ({
    whose,
    endsMs: Date.parse(new X509Certificate(await readFile(path)).validTo),
  }));
  const shown = shownCertificate(url, timeouts.connectMs).then((endsMs) => ({
    whose: "the service's certificate",
    endsMs,
  }));
  return await Promise.all([...own, shown]);
}

/** When the certificate that is shown there ends. It is only looked at: whether it is trusted is told by the first request. */
function shownCertificate({ hostname, port }: URL, timeoutMs: number): Promise<number> {
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = connect({
      host,
      port: Number(port || 443),
      ...name,
      rejectUnauthorized: false,
      timeout: timeoutMs,
    });
    const end = (act: () => void) => {
      socket.destroy();
      act();
    };
    socket.once('secureConnect', () => {
      const endsMs = Date.parse(socket.getPeerX509Certificate()?.validTo ?? '');
      end(() => resolve(endsMs));
    });
    socket.once('timeout', () => end(() => reject(new Error('no TLS handshake in time'))));
    socket.once('error', ({ message }) =>
      end(() => reject(new Error(`no TLS handshake: ${message}`))),
    );
  });
}
