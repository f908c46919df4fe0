/** Options of TLS and of the login for connections to brokers. */

export interface TlsOptions {
  /** PEM files of trusted authorities. If empty, the authorities built into Node.js are trusted. */
  readonly ca: readonly string[];
  /** PEM files of the client certificate and its key, if brokers require them. Either both are set or neither. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** Host name that the brokers' certificates must have, instead of the host in their address. */
  readonly serverName?: string | undefined;
}

export interface KafkaToken {
  /** The token. It must never reach a log or an error. */
  readonly value: string;
  /** Time for which the token may be used again, ms. 0 if each login requests a token. */
  readonly lifetimeMs: number;
}

/** Origin of the tokens for oauthbearer. */
export interface TokenOrigin {
  /** Returns a token. @throws SecurityError, which never contains a secret */
  readonly request: (signal: AbortSignal) => Promise<KafkaToken>;
  /** Remedy if the brokers reject a token. */
  readonly remedy: string;
  /** Principal of the tokens, for messages about missing permissions. */
  readonly principal: string;
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
      readonly tokens: TokenOrigin;
      readonly extensions: Readonly<Record<string, string>>;
    };

/** Owner of a certificate. If there are several brokers or authorities, the first expiry is reported. */
export type CertificateOwner = 'client' | 'ca' | 'broker';

/** Receives the expiry (ms since the epoch) whenever files are read or a broker presents its certificate. */
export type ExpiryObserver = (owner: CertificateOwner, expiresAtMs: number) => void;
