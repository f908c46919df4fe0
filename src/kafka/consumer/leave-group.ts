/** Removal of group members before their session timeout, so that their shards can move at once. */

import { settledWithin } from '../../../packages/client/src/base/abortable.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ClusterConnection, coordinatorOf, describeGroup } from '../cluster-connection.ts';
import type { ConnectOptions } from '../connect.ts';
import { explain, type RequestedAccess } from '../errors.ts';
import type { KafkaCluster } from '../kafkajs/shapes.ts';

/** Maximum time of a leave request. Together with the session's own grace it is less than two seconds. */
const GRACE_MS = 500;

/**
 * Returns the ids of members with this client id. They are left over from dead processes, since
 * this process has not joined yet. Never throws: members that are not found are removed at their
 * session timeout.
 */
export async function membersOf(
  cluster: KafkaCluster,
  access: RequestedAccess & { readonly group: string },
  clientId: string,
  logger: Logger,
): Promise<readonly string[]> {
  try {
    const { members } = await describeGroup(cluster, access.group);
    const ids = members.filter((one) => one.clientId === clientId).map(({ memberId }) => memberId);
    for (const memberId of ids)
      logger.info({ memberId }, 'removing an earlier member of this host and port from the group');
    return ids;
  } catch (error) {
    logger.debug({ error: explain(error, access) }, 'could not describe the group');
    return [];
  }
}

/**
 * Sends a leave request on a separate connection. Never throws: a member that could not leave is
 * removed at its session timeout.
 */
export async function leaveGroup(
  connect: ConnectOptions,
  groupId: string,
  memberId: string,
  logger: Logger,
): Promise<void> {
  const connection = new ClusterConnection(connect, logger, 0);
  const left = connection.request(`leave group ${groupId}`, { group: groupId }, async (cluster) => {
    const coordinator = await coordinatorOf(cluster, 'group', groupId);
    await coordinator.leaveGroup({ groupId, memberId });
  });
  left.catch((error: unknown) =>
    logger.debug({ error: explain(error) }, 'could not leave the consumer group'),
  );
  await settledWithin(left, GRACE_MS);
  await connection.close(0);
}
