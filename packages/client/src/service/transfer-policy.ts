/**
 * Policy for presigned addresses. An attacker who controls the service's responses or the storage's
 * redirects must not reach the network through this process. Therefore hosts are checked by name
 * before each request, and by address at each connection.
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
  /** Hosts for transfers (web-address.ts). If empty, all hosts with public addresses are allowed. */
  readonly hosts: readonly string[];
  /** Hosts that may be reached by http. This machine is always allowed. */
  readonly allowHttp: readonly string[];
  /** Hosts and ranges such as `10.0.0.0/8` whose addresses need not be public. */
  readonly allowPrivate: readonly string[];
}

export interface TransferPolicy {
  /** Returns why an address may not be used, as far as that can be determined without a name lookup. */
  objection(url: URL): string | undefined;
  /** Returns true if a host may be reached at an address. Called for each connection. */
  allowsAddress(host: string, address: string): boolean;
}

/**
 * @throws TypeError for an invalid rule
 * @param baseUrl if it is this machine, the storage may be on this machine too
 */
export function transferPolicy(rules: TransferRules, baseUrl: URL): TransferPolicy {
  const hosts = hostPatterns(rules.hosts);
  const http = hostPatterns(rules.allowHttp);
  const isNetwork = (text: string) => problemWithCidr(text) === undefined;
  const networks = addressSet(rules.allowPrivate.filter(isNetwork));
  const names = hostPatterns(rules.allowPrivate.filter((text) => !isNetwork(text)));
  // A connection is checked by its address, without a port, so a rule with a port would never
  // apply.
  const ported = names.find(({ port }) => port !== undefined);
  if (ported !== undefined) {
    throw new TypeError(`"${ported.host}:${ported.port}" in allowPrivate: remove the port`);
  }
  const isLocal = isLoopbackHost(baseUrl);

  const allowsAddress = (host: string, address: string): boolean => {
    const range = rangeOf(address);
    if (range === 'public' || contains(networks, address)) return true;
    if (range === 'loopback' && isLocal) return true;
    // A name never allows an address of cloud credentials, because the owner of a name chooses its
    // address.
    const isNamed = matchesHost(names, new URL(`http://${bracketed(host)}`));
    return (range === 'private' || range === 'loopback') && isNamed;
  };

  return {
    objection(url) {
      if (hosts.length > 0 && !matchesHost(hosts, url)) {
        return 'its host is not one of service.transfer.hosts';
      }
      if (url.protocol === 'http:' && !isLoopbackHost(url) && !matchesHost(http, url)) {
        return 'http sends content unencrypted and is only allowed for the hosts of service.allowHttp';
      }
      const host = hostOf(url);
      return isIP(host) === 0 || allowsAddress(host, host) ? undefined : NOT_PUBLIC;
    },
    allowsAddress,
  };
}
