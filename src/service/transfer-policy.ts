/**
 * Which presigned addresses may be talked to. Whoever controls the service's answers, or the storage's redirects, must not turn
 * this process into their hand inside the network: hosts are checked by name, what they resolve to when it is connected to.
 */
import { isIP } from 'node:net';
import { addressSet, contains, problemWithCidr, rangeOf } from '../http/address-ranges.ts';
import {
  bracketed,
  hostOf,
  hostPatterns,
  isLoopbackHost,
  matchesHost,
} from '../http/host-pattern.ts';
import { NOT_PUBLIC } from './problems.ts';

export interface TransferRules {
  /** Hosts of transfers (host-pattern.ts). Empty: every host with public addresses. */
  readonly hosts: readonly string[];
  /** Hosts that may be talked to by http; this machine may always. */
  readonly allowHttp: readonly string[];
  /** Hosts, and ranges such as `10.0.0.0/8`, whose addresses need not be public. */
  readonly allowPrivate: readonly string[];
}

/** Lets through what it does not object to. Objections continue "upload at host/path was not called: …". */
export interface TransferPolicy {
  /** Why an address may not be talked to, as far as it can be seen without asking for its name. */
  objection(url: URL): string | undefined;
  /** Whether a host may be connected to at an IP address: asked for each connection, so a name that changes is caught. */
  allowsAddress(host: string, address: string): boolean;
}

/** @throws TypeError for a rule that is none. @param baseUrl when it is this machine, so may be the storage */
export function transferPolicy(rules: TransferRules, baseUrl: URL): TransferPolicy {
  const hosts = hostPatterns(rules.hosts);
  const http = hostPatterns(rules.allowHttp);
  const networks = addressSet(
    rules.allowPrivate.filter((text) => problemWithCidr(text) === undefined),
  );
  const named = rules.allowPrivate.filter((text) => problemWithCidr(text) !== undefined);
  const names = hostPatterns(named);
  const ported = names.findIndex(({ port }) => port !== undefined);
  // A connection is judged by where it leads, whatever the port: with one the rule would never hold.
  if (ported >= 0) throw new TypeError(`"${named[ported]}" in a list of hosts: without a port`);
  const local = isLoopbackHost(baseUrl);

  const allowsAddress = (host: string, address: string): boolean => {
    const range = rangeOf(address);
    if (range === 'public' || contains(networks, address)) return true;
    if (range === 'loopback' && local) return true;
    // A name may stand for a private network, never for where clouds keep credentials: whoever runs the name chooses the address.
    return (
      (range === 'private' || range === 'loopback') &&
      matchesHost(names, new URL(`http://${bracketed(host)}`))
    );
  };

  return {
    objection(url) {
      if (hosts.length > 0 && !matchesHost(hosts, url))
        return 'its host is not one of service.transfer.hosts';
      if (url.protocol === 'http:' && !isLoopbackHost(url) && !matchesHost(http, url)) {
        return 'http is for hosts of service.allowHttp only, or the content travels in the clear';
      }
      const host = hostOf(url);
      return isIP(host) === 0 || allowsAddress(host, host) ? undefined : NOT_PUBLIC;
    },
    allowsAddress,
  };
}
