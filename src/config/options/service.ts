import type { PemPath } from '../load/read-file.ts';
import { group, value } from '../option.ts';
import type { Secret } from '../secret.ts';
import { Refusal } from '../units.ts';
import { duration, integer, secret, text } from '../values.ts';
import {
  allowHttpOption,
  proxyOptions,
  serviceTlsOptions,
  transferOptions,
} from './service-network.ts';

/** `service`: the Content Review Service and how to treat it. */
export function serviceOptions(readSecret: (raw: unknown) => Secret | Refusal, readPem: PemPath) {
  return group('The Content Review Service.', {
    baseUrl: value({
      help: 'Address that the paths of the service (/v1/batches, …) are relative to. Each call carries the API key, so http is for this machine, or for a host of allowHttp.',
      allowed: 'an https:// or http:// address without query, fragment or user',
      parse: parseBaseUrl,
    }),
    apiKey: secret({
      help: 'Key of the service. A file is read again when it changes, without a restart.',
      read: readSecret,
    }),
    importPath: text({
      help: 'Path, below baseUrl, at which the status of an import is asked for.',
      allowed:
        'a path that begins with / and contains {import_id}, without spaces, # or other braces',
      fallback: '/v1/import/{import_id}',
      check: importPathObjection,
    }),
    timeouts: group('Limits of one request; retries come on top.', {
      connect: duration({
        help: 'Name lookup, TCP and TLS together.',
        fallback: '5s',
        min: '10ms',
        max: '5m',
      }),
      headers: duration({
        help: 'From the start of sending to the first byte of the answer; uploads get more by their size.',
        fallback: '30s',
        min: '10ms',
        max: '1h',
      }),
      body: duration({
        help: 'Longest silence inside a download; longest time for any other answer.',
        fallback: '60s',
        min: '10ms',
        max: '1h',
      }),
    }),
    retry: group(
      'Requests answered by 429, 5xx, a timeout or a reset are made again, after a random wait that doubles its ceiling each time.',
      {
        attempts: integer({
          help: 'Tries in all, the first one included; 1 never tries again.',
          fallback: 5,
          min: 1,
          max: 100,
        }),
        base: duration({
          help: 'Ceiling of the first wait.',
          fallback: '250ms',
          min: '1ms',
          max: '10m',
        }),
        cap: duration({
          help: 'Ceiling of every wait; a Retry-After of the service may be longer.',
          fallback: '20s',
          min: '1ms',
          max: '1h',
        }),
      },
    ),
    concurrency: group(
      'How much goes on at once, over all pipelines, at most: 429, 503 and timeouts halve it, success lets it grow back.',
      {
        requests: integer({ help: 'Calls to baseUrl.', fallback: 16, min: 1, max: 1_000 }),
        transfers: integer({
          help: 'Uploads, and as many downloads.',
          fallback: 4,
          min: 1,
          max: 1_000,
        }),
      },
    ),
    allowHttp: allowHttpOption(),
    transfer: transferOptions(readSecret),
    proxy: proxyOptions(readSecret),
    tls: serviceTlsOptions(readPem),
  });
}

function importPathObjection(path: string): string | undefined {
  if (!/^\/[^\s#{}\\]*(\{import_id\}[^\s#{}\\]*)+$/.test(path) || !/^[\x21-\x7e]*$/.test(path))
    return '';
  const steps = (path.split('?')[0] ?? '').replaceAll(/%2e/gi, '.').split('/');
  return steps.some((step) => step === '.' || step === '..')
    ? 'no dot segments (. and ..): they name another place'
    : undefined;
}

function parseBaseUrl(raw: unknown): string | Refusal {
  const url = typeof raw === 'string' ? URL.parse(raw) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return new Refusal('');
  if (url.username !== '' || url.password !== '') return new Refusal('credentials go into apiKey');
  if (url.search !== '' || url.hash !== '') return new Refusal('');
  return url.href.replace(/\/+$/, '');
}
