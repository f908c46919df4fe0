/**
 * Policy for presigned addresses. An attacker who controls the service's answers, or the storage's
 * redirects, must not reach the network through this process: hosts are checked by name before a
 * request, and by address at each connection.
 */
import { isIP } from 'node:net';
import { addressSet, contains, problemWithCidr, rangeOf } from '../http/address-ranges.ts';
import {
  bracketed,
  hostOf,
  hostPatterns,
  isLoopbackHost,
  matchesHost,
} from '../http/web-address.ts';
import { NOT_PUBLIC } from './error-classification.ts';

export interface TransferRules {
  /** Hosts of transfers (web-address.ts). Empty: every host with public addresses. */
  readonly hosts: readonly string[];
  /** Hosts that may be reached by http; this machine always may. */
  readonly allowHttp: readonly string[];
  /** Hosts, and ranges such as `10.0.0.0/8`, whose addresses need not be public. */
  readonly allowPrivate: readonly string[];
}

export interface TransferPolicy {
  /** Reason why an address may not be used, as far as it is known without a name lookup. */
  objection(url: URL): string | undefined;
  /** Returns whether a host may be connected to at an address. Called for each connection. */
  allowsAddress(host: string, address: string): boolean;
}

/**
 * @throws TypeError for an invalid rule
 * @param baseUrl when it is this machine, the storage may be, too
 */
export function transferPolicy(rules: TransferRules, baseUrl: URL): TransferPolicy {
  const hosts = hostPatterns(rules.hosts);
  const http = hostPatterns(rules.allowHttp);
  const isNetwork = (text: string) => problemWithCidr(text) === undefined;
  const networks = addressSet(rules.allowPrivate.filter(isNetwork));
  const names = hostPatterns(rules.allowPrivate.filter((text) => !isNetwork(text)));
  // A connection is judged by its address, whatever the port: such a rule would never hold.
  const ported = names.find(({ port }) => port !== undefined);
  if (ported !== undefined) {
    throw new TypeError(`"${ported.host}:${ported.port}" in a list of hosts: without a port`);
  }
  const isLocal = isLoopbackHost(baseUrl);

  const allowsAddress = (host: string, address: string): boolean => {
    const range = rangeOf(address);
    if (range === 'public' || contains(networks, address)) return true;
    if (range === 'loopback' && isLocal) return true;
    // Never the addresses of cloud credentials: the owner of a name chooses its address.
    const isNamed = matchesHost(names, new URL(`http://${bracketed(host)}`));
    return (range === 'private' || range === 'loopback') && isNamed;
  };

  return {
    objection(url) {
      if (hosts.length > 0 && !matchesHost(hosts, url)) {
        return 'its host is not one of service.transfer.hosts';
      }
      if (url.protocol === 'http:' && !isLoopbackHost(url) && !matchesHost(http, url)) {
        return 'http is for hosts of service.allowHttp only, or the content travels in the clear';
      }
      const host = hostOf(url);
      return isIP(host) === 0 || allowsAddress(host, host) ? undefined : NOT_PUBLIC;
    },
    allowsAddress,
  };
}
