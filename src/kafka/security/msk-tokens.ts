/** Tokens for Amazon MSK with IAM, which the library of AWS signs with the credentials of its default chain. */
import { abortable } from '../../../packages/client/src/base/abortable.ts';
import type { TokenOrigin } from './options.ts';
import { SecurityError } from './security-error.ts';

interface Signer {
  /** @returns the token and its expiry (ms since the epoch) */
  generateAuthToken(options: {
    readonly region: string;
  }): Promise<{ readonly token: string; readonly expiryTime: number }>;
}

interface MskOptions {
  /** Loads the library aws-msk-iam-sasl-signer-js, an optional dependency that is larger than the connector. */
  readonly load: () => Promise<Signer>;
  readonly brokers: readonly string[];
  readonly timeoutMs: number;
}

const MISSING =
  'kafka.sasl.mechanism aws-msk-iam requires a package of AWS: run npm install aws-msk-iam-sasl-signer-js (for the container image: docs/kafka-security.md)';

export function mskTokens({ load, brokers, timeoutMs }: MskOptions): TokenOrigin {
  return {
    async request(signal) {
      const region = regionOf(brokers);
      const { generateAuthToken } = await load().catch((error: unknown) => {
        throw new SecurityError(MISSING, { cause: error });
      });
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const { token, expiryTime } = await abortable(generateAuthToken({ region }), limit);
        return { value: token, lifetimeMs: expiryTime - Date.now() };
      } catch (error) {
        signal.throwIfAborted();
        throw failure(error, limit.aborted ? timeoutMs : undefined);
      }
    },
    remedy:
      'check the region, and that the policy of the IAM identity allows kafka-cluster:Connect on this cluster',
    principal: 'the IAM identity',
  };
}

const HOST = /\.kafka(?:-serverless)?\.([a-z0-9-]{1,40})\.amazonaws\.com(?:\.cn)?:\d+$/i;

/** Returns the region of the brokers. Their names take precedence over the environment, which has this machine's region. */
function regionOf(brokers: readonly string[]): string {
  const named = brokers.map((broker) => HOST.exec(broker)?.[1]?.toLowerCase()).find(Boolean);
  const region = named ?? (process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION);
  if (region) return region;
  throw new SecurityError(
    'kafka.sasl.mechanism aws-msk-iam: cannot derive the region from the names in kafka.brokers: set AWS_REGION',
  );
}

/** Shows only names and codes, because messages may contain parts of the request. */
function failure(error: unknown, lateMs: number | undefined): SecurityError {
  const { name, code, $fault, $retryable } = error as Partial<
    Record<'name' | 'code' | '$fault' | '$retryable', unknown>
  >;
  const reason = [code, name].find((one) => /^\w{1,60}$/.test(String(one ?? ''))) ?? 'unknown';
  const why = lateMs === undefined ? reason : `no response within ${lateMs} ms`;
  return new SecurityError(
    `no AWS credentials for Kafka (${why}): check the environment variables that begin with AWS_, and the trust policy of the role`,
    { retriable: $fault !== 'client' || $retryable !== undefined },
  );
}
