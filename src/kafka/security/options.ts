/** Options of TLS and of the login for connections to brokers. */
import type { HttpPool } from '../../../packages/client/src/http/http.ts';

export interface TlsOptions {
  /** PEM files of trusted authorities. If empty, the ones built into Node.js are trusted. */
  readonly ca: readonly string[];
  /** PEM files of the client certificate and its key, if brokers require them. Either both are set or neither. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Returns the key's passphrase. Called each time the files are read. */
  readonly keyPassphrase?: (() => Promise<string>) | undefined;
  /** Host name that the brokers' certificates must have, instead of the host in their address. */
  readonly serverName?: string | undefined;
}

export interface TokenOptions {
  readonly endpoint: string;
  readonly clientId: string;
  /** Returns the client secret. Called for each request. */
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
      /** Returns the password. Called for each login. */
      readonly password: () => Promise<string>;
    }
  | {
      readonly mechanism: 'oauthbearer';
      readonly token: TokenOptions;
      readonly extensions: Readonly<Record<string, string>>;
    };

/** Owner of a certificate. If there are several brokers or authorities, the first expiry is reported. */
export type CertificateOwner = 'client' | 'ca' | 'broker';

/** Receives the expiry (ms since the epoch) whenever files are read or a broker presents its certificate. */
export type ExpiryObserver = (owner: CertificateOwner, expiresAtMs: number) => void;
