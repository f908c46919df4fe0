/** Options of the protection of connections to brokers, and of the login. */
import type { HttpExchange } from '../../core/ports/http.ts';

export interface TlsOptions {
  /** PEM files of authorities; empty: those that Node.js knows. */
  readonly ca: readonly string[];
  /** PEM files for brokers that require a certificate: both, or none. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Read each time that the files are read. */
  readonly keyPassphrase?: (() => Promise<string>) | undefined;
  /** Name that the brokers' certificates must have, instead of the host they are reached at. */
  readonly serverName?: string | undefined;
}

export interface TokenOptions {
  readonly endpoint: string;
  readonly clientId: string;
  /** Read for each request. */
  readonly clientSecret: () => Promise<string>;
  readonly scope?: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  /** Opens a connection to the token endpoint for one request. @throws Error whose message may be shown */
  readonly open: () => HttpExchange;
  readonly timeoutMs: number;
}

export type SaslOptions =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      /** Read for each login. */
      readonly password: () => Promise<string>;
    }
  | {
      readonly mechanism: 'oauthbearer';
      readonly token: TokenOptions;
      readonly extensions: Readonly<Record<string, string>>;
    };

/** Owner of a certificate; of several brokers or authorities the first to expire counts. */
export type CertificateOwner = 'client' | 'ca' | 'broker';

/** Receives the expiry, ms since the epoch, when files are read, and when a broker presents its certificate. */
export type ExpiryObserver = (owner: CertificateOwner, expiresAtMs: number) => void;
