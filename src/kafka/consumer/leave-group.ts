/** Tells the coordinator that a member has gone, on a connection of its own, so that its shards need not wait for a timeout. */
import type { Broker } from 'kafkajs';
import type { Logger } from '../../core/ports/telemetry.ts';
import { Client, type ConnectOptions, clusterOf } from '../client/connect.ts';
import { explain } from '../client/errors.ts';

const RETRY = { initialRetryTime: 50, retries: 1 };
/** Together with the session's own grace less than two seconds. */
const PATIENCE_MS = 500;

/** Never throws: a member that cannot say good-bye is missed after its session timeout. */
export async function leaveGroup(
  connect: ConnectOptions,
  groupId: string,
  memberId: string,
  logger: Logger,
): Promise<void> {
  const client = new Client(connect, logger, RETRY);
  const cluster = clusterOf(client, 60_000);
  const leave = async () => {
    await cluster.connect();
    await cluster.refreshMetadata();
    const coordinator = (await cluster.findGroupCoordinator({ groupId })) as Broker & {
      leaveGroup(member: { groupId: string; memberId: string }): Promise<unknown>;
    };
    await coordinator.leaveGroup({ groupId, memberId });
  };
  const left = leave()
    .catch((error: unknown) =>
      logger.debug({ group: groupId, error: explain(error) }, 'could not leave the group'),
    )
    .then(() => cluster.disconnect());
  await client.close(() => left, PATIENCE_MS);
}
