/** kafkajs's log lines, brought to the project's logger: only what an operator can use, at the level it deserves. */
import type { LogEntry } from 'kafkajs';
import type { Logger } from '../../core/ports/telemetry.ts';
import { logLevel } from '../kafkajs/patches.ts';

/**
 * Normal while brokers start, groups form, one transaction follows another at once, or a client is closed; and refusals that
 * the adapter reports itself, with what to do. `Response …` lines only repeat the error of the request they belong to.
 */
const BENIGN =
  /\bResponse \w+\(key|this Kafka client is closed|given up before it was open|with an old epoch|coordinator is loading|coordinator is not available|load(ing)? in progress|not aware of this member|rebalanc|needs to have a valid member id|concurrent operation on the same transaction|not the (correct )?coordinator|leadership election/i;

/** Names of fields that never hold content or secrets (I6); everything else is dropped. */
const FIELDS = [
  'broker',
  'groupId',
  'memberId',
  'topic',
  'partition',
  'error',
  'retryCount',
  'retryTime',
  'correlationId',
] as const;

/** The same line again within this time is a debug line: every producer says that the broker is away, at every try. */
const REPEAT_MS = 10_000;
const REMEMBERED = 200;

/** Makes the `logCreator` for kafkajs. Lines of level error become warnings: the adapter reports what it could not mend. */
export function clientLog(
  logger: Logger,
  now: () => number = Date.now,
): () => (entry: LogEntry) => void {
  const saidAtMs = new Map<string, number>();
  return () => (entry) => {
    const { message } = entry.log;
    const fields: Record<string, unknown> = { client: `kafkajs ${entry.namespace}` };
    for (const name of FIELDS) {
      const value: unknown = entry.log[name];
      if (value !== undefined) fields[name] = value instanceof Error ? value.message : value;
    }
    const line = `${entry.namespace} ${message} ${String(fields.error ?? '')}`;
    if (entry.level > logLevel.WARN || BENIGN.test(line)) {
      logger.debug(fields, message);
      return;
    }
    const at = now();
    const before = saidAtMs.get(line);
    if (before !== undefined && at - before < REPEAT_MS) {
      logger.debug(fields, message);
      return;
    }
    if (saidAtMs.size >= REMEMBERED) saidAtMs.clear();
    saidAtMs.set(line, at);
    logger.warn(fields, message);
  };
}
