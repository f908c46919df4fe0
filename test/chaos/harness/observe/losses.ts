/** Shards and memberships that replicas lost, by their logs. Only faults of processes, brokers or networks may cause a loss. */
import type { LogLine } from '../../../support/stack/stack.ts';

/** Messages in the connector's log. */
export const LOST_SHARD = 'lost the shard; claiming it again once the group responds';
export const LOST_GROUP = 'lost the group: joining again';
const INTERNAL = 'internal error of the connector: please report it';

/** Errors that indicate a defect of the connector, as `describe` writes them. Neither Kafka nor the service can cause them. */
const OF_THE_CODE =
  /\b(Type|Range|Syntax|Reference|Assertion|Eval|URI)Error\b|Cannot create a Buffer|not implemented/;

export interface Losses {
  readonly shards: number;
  readonly groups: number;
  readonly violations: readonly string[];
}

/**
 * @param lines returns the log lines of all replicas with a message
 * @param isDisturbed true if there were faults of processes, brokers or networks. Otherwise every loss is a
 * violation
 */
export function lossesIn(
  lines: (message: string) => readonly LogLine[],
  isDisturbed: boolean,
): Losses {
  const [shards, groups, internal] = [lines(LOST_SHARD), lines(LOST_GROUP), lines(INTERNAL)];
  const unexplained = [...shards, ...groups].filter(
    (line) => !isDisturbed || OF_THE_CODE.test(reasonOf(line)),
  );
  const violations = new Set(
    [...unexplained, ...internal].map(
      (line) => `${line.msg}: ${reasonOf(line)} (pipeline ${line.pipeline})`,
    ),
  );
  return { shards: shards.length, groups: groups.length, violations: [...violations] };
}

const reasonOf = ({ error, reason, cause }: LogLine): string =>
  String(error ?? reason ?? cause).slice(0, 300);
