/** Members that leave their group early, so that their shards need not wait for a session timeout. */

import { settledWithin } from '../../base/abortable.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { ClusterConnection, coordinatorOf } from '../client/cluster-connection.ts';
import type { ConnectOptions } from '../client/connect.ts';
import { explain } from '../errors.ts';

/** With the session's own grace less than two seconds. */
const GRACE_MS = 500;

/**
 * Sends a leave request on a connection of its own. Never throws: a member that could not leave
 * does so with its session timeout.
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
