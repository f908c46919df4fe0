/** Log of kafkajs, through the project's logger: what an operator can use, at a fitting level. */
import type { LogEntry } from 'kafkajs';
import type { Logger } from '../../core/ports/telemetry.ts';
import { logLevel } from '../kafkajs/patches.ts';

/**
 * Lines that are normal while brokers start, groups form or a client is closed, and refusals that
 * the adapter reports itself, with the remedy. `Response …` lines repeat the error of their request.
 */
const BENIGN =
  /\bResponse \w+\(key|this Kafka client is closed|given up before it was open|with an old epoch|coordinator is loading|coordinator is not available|load(ing)? in progress|not aware of this member|rebalanc|needs to have a valid member id|concurrent operation on the same transaction|not the (correct )?coordinator|leadership election/i;

/** Names of fields that never hold content or secrets (I6); everything else is dropped. */
const FIELDS = ['broker', 'groupId', 'memberId', 'topic', 'partition', 'error'] as const;

/** A line that repeats within this time is a debug line: every producer logs an absent broker, at every retry. */
const REPEAT_MS = 10_000;
const REMEMBERED = 200;

/** Returns the `logCreator` for kafkajs. Errors become warnings: the adapter reports those that remain. */
export function clientLog(
  logger: Logger,
  now: () => number = () => performance.now(),
): () => (entry: LogEntry) => void {
  const loggedAtMs = new Map<string, number>();
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
    const before = loggedAtMs.get(line);
    if (before !== undefined && at - before < REPEAT_MS) {
      logger.debug(fields, message);
      return;
    }
    if (loggedAtMs.size >= REMEMBERED) loggedAtMs.clear();
    loggedAtMs.set(line, at);
    logger.warn(fields, message);
  };
}
