/** Options of TLS and of the login for connections to brokers. */
import type { HttpPool } from '../../../packages/client/src/http/http.ts';

export interface TlsOptions {
  /** PEM files of authorities. If empty, those of Node.js are trusted. */
  readonly ca: readonly string[];
  /** PEM files for brokers that require a client certificate. Both are set, or neither. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Called each time that the files are read. */
  readonly keyPassphrase?: (() => Promise<string>) | undefined;
  /** Name that the brokers' certificates must have, instead of the host in the address. */
  readonly serverName?: string | undefined;
}

export interface TokenOptions {
  readonly endpoint: string;
  readonly clientId: string;
  /** Called for each request. */
  readonly clientSecret: () => Promise<string>;
  readonly scope?: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  /** Opens a connection to the token endpoint for one request. @throws Error whose message may be shown */
  readonly open: () => HttpPool;
  readonly timeoutMs: number;
}

export type SaslOptions =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      /** Called for each login. */
      readonly password: () => Promise<string>;
    }
  | {
      readonly mechanism: 'oauthbearer';
      readonly token: TokenOptions;
      readonly extensions: Readonly<Record<string, string>>;
    };

/** Owner of a certificate. Of several brokers or authorities, the first expiry is reported. */
export type CertificateOwner = 'client' | 'ca' | 'broker';

/** Receives the expiry (ms since the epoch) when files are read, and when a broker presents its certificate. */
export type ExpiryObserver = (owner: CertificateOwner, expiresAtMs: number) => void;
