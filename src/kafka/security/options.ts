/** How connections to the brokers are protected, and as whom the connector comes. */
import type { HttpExchange } from '../../core/ports/http.ts';

export interface TlsOptions {
  /** PEM files of authorities; empty: those that Node.js knows. */
  readonly ca: readonly string[];
  /** PEM files for brokers that ask for a certificate: both, or none. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Asked for each time that the files are read. */
  readonly keyPassphrase?: (() => Promise<string>) | undefined;
  /** Name that the brokers' certificates must have, instead of the host they are reached at. */
  readonly serverName?: string | undefined;
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  readonly insecureSkipVerification: boolean;
}

export interface TokenOptions {
  readonly endpoint: string;
  readonly clientId: string;
  /** Asked for with each request. */
  readonly clientSecret: () => Promise<string>;
  readonly scope?: string | undefined;
  readonly audience?: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  /** The way to the endpoint, for one request. @throws TypeError that says what is wrong with it, and may be shown */
  readonly open: () => HttpExchange;
  readonly timeoutMs: number;
}

export type SaslOptions =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      /** Asked for with each login. */
      readonly password: () => Promise<string>;
    }
  | {
      readonly mechanism: 'oauthbearer';
      readonly token: TokenOptions;
      readonly extensions: Readonly<Record<string, string>>;
    };

/** Whose certificate: this client's, an authority's, or a broker's (the first of them to expire). */
export type CertificateOwner = 'client' | 'ca' | 'broker';

/** Told when certificates expire, in ms since the epoch: at each reading of the files, and when a broker shows its own. */
export type ExpiryObserver = (owner: CertificateOwner, expiresAtMs: number) => void;
