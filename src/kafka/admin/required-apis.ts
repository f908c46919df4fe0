/** Which requests the connector makes, in which versions: those of kafkajs 2.2.4, from the first that has what is needed. */

export type RequestVersions = Readonly<
  Record<number, { readonly minVersion: number; readonly maxVersion: number }>
>;

/** Name, key, oldest and newest version. Transactions need Produce 3 and ListOffsets 2 (Kafka 0.11). */
const NEEDED: readonly (readonly [string, number, number, number])[] = [
  ['Produce', 0, 3, 7],
  ['Fetch', 1, 4, 11],
  ['ListOffsets', 2, 2, 3],
  ['Metadata', 3, 1, 6],
  ['OffsetFetch', 9, 1, 4],
  ['FindCoordinator', 10, 1, 2],
  ['JoinGroup', 11, 0, 5],
  ['Heartbeat', 12, 0, 3],
  ['LeaveGroup', 13, 0, 3],
  ['SyncGroup', 14, 0, 3],
  ['DescribeGroups', 15, 0, 2],
  ['CreateTopics', 19, 0, 3],
  ['InitProducerId', 22, 0, 1],
  ['AddPartitionsToTxn', 24, 0, 1],
  ['AddOffsetsToTxn', 25, 0, 1],
  ['EndTxn', 26, 0, 1],
  ['TxnOffsetCommit', 28, 0, 1],
  ['DescribeConfigs', 32, 0, 2],
];

/** What a broker lacks: `Produce 3 to 7 (it has 8 to 12)`. */
export function missingRequests(versions: RequestVersions): string[] {
  return NEEDED.flatMap(([name, key, oldest, newest]) => {
    const has = versions[key];
    if (has !== undefined && has.minVersion <= newest && has.maxVersion >= oldest) return [];
    const instead =
      has === undefined ? 'it has none' : `it has ${has.minVersion} to ${has.maxVersion}`;
    return [`${name} ${oldest} to ${newest} (${instead})`];
  });
}
