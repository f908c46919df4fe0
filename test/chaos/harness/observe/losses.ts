/** Shards and group memberships that replicas lost, by their logs: a fault outside may cost one, a record, a file or an answer never. */
import type { LogLine } from '../../../support/stack/stack.ts';

/** Messages of the connector's log. */
const LOST_SHARD = 'lost the shard; claiming it again once the group responds';
const LOST_GROUP = 'lost the group: joining again';
const INTERNAL = 'internal error of the connector: please report it';

/** Faults of the code, as `describe` names them: nothing that Kafka or the service does is one. */
const OF_THE_CODE =
  /\b(Type|Range|Syntax|Reference|Assertion|Eval|URI)Error\b|Cannot create a Buffer|not implemented/;

export interface Losses {
  readonly shards: number;
  readonly groups: number;
  readonly violations: readonly string[];
}

/**
 * @param lines of all replicas
 * @param isDisturbed whether anything happened to processes, brokers or networks: otherwise nothing explains a loss
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
