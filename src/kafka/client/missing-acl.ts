/** Which right (ACL) is missing when a broker refuses: its answer has only the kind of the resource. */

/** What was asked for, as far as the caller knows. */
export interface Asked {
  /** What a topic was asked for: READ, WRITE, DESCRIBE_CONFIGS, CREATE. */
  readonly operation?: string | undefined;
  readonly topic?: string | undefined;
  readonly group?: string | undefined;
  /** What the group was asked for: READ, DESCRIBE. */
  readonly groupOperation?: string | undefined;
  /** What the transactional ids begin with. */
  readonly transactionalIds?: string | undefined;
  /** `User:…`, as brokers know this client. */
  readonly principal?: string | undefined;
}

/** `grant WRITE on topic decisions to User:connector (docs/kafka-security.md)`; undefined when no right is missing. */
export function missingAcl(type: string, error: unknown, asked: Asked): string | undefined {
  const right = rightFor(type, error, asked);
  if (right === undefined) return undefined;
  return `grant ${right} to ${asked.principal ?? "this client's principal"} (docs/kafka-security.md)`;
}

function rightFor(
  type: string,
  error: unknown,
  { operation, topic, group, groupOperation, transactionalIds }: Asked,
): string | undefined {
  switch (type) {
    case 'TOPIC_AUTHORIZATION_FAILED':
      return `${operation ?? 'READ, or WRITE,'} on topic ${topicIn(error) ?? topic ?? 'of this request'}`;
    case 'GROUP_AUTHORIZATION_FAILED':
      return `${groupOperation ?? 'READ'} on group ${group ?? 'of this request'}`;
    case 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED':
      return `WRITE on transactional ids that begin with ${transactionalIds ?? "the journal topic's name"}`;
    case 'CLUSTER_AUTHORIZATION_FAILED':
      return 'this operation on the cluster';
    default:
      return undefined;
  }
}

/** The topic that a mended answer names (kafkajs-refusals.ts). */
function topicIn(error: unknown): string | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const { topic } = at as Error & { topic?: unknown };
    if (typeof topic === 'string') return topic;
  }
  return undefined;
}
