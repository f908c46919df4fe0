/** Whether the partitions of a topic can be read and written now, and when a broker is lost. */
import { type Finding, failed, warning } from './check.ts';
import type { Topic } from './topics.ts';

const SHOWN = 5;

export function replicaFindings(
  { partitions, description }: Topic,
  brokers: number,
  written: boolean,
): Finding[] {
  const findings: Finding[] = [];
  const named = (some: readonly { readonly partition: number }[]) =>
    `${some
      .slice(0, SHOWN)
      .map(({ partition }) => partition)
      .join(', ')}${some.length > SHOWN ? ` and ${some.length - SHOWN} more` : ''}`;
  const leaderless = partitions.filter(({ leader }) => leader < 0);
  if (leaderless.length > 0)
    findings.push(
      failed(`no leader for partition ${named(leaderless)}`, 'start the brokers that have them'),
    );
  const needed = Number(description.settings.get('min.insync.replicas') ?? 1);
  const tooFew = partitions.filter(({ inSync, leader }) => leader >= 0 && inSync < needed);
  const behind = partitions.filter(({ inSync, replicas }) => inSync < replicas);
  if (written && tooFew.length > 0)
    findings.push(
      failed(
        `fewer replicas than min.insync.replicas (${needed}) are in sync of partition ${named(tooFew)}: nothing can be written there`,
        'start the brokers that have them, or lower min.insync.replicas',
      ),
    );
  else if (behind.length > 0)
    findings.push(
      warning(`not all replicas are in sync of partition ${named(behind)}`, 'look at the brokers'),
    );
  if (brokers > 1) findings.push(...ofSeveralBrokers(description, needed, written));
  return findings;
}

function ofSeveralBrokers(
  { replicationFactor, settings }: Topic['description'],
  needed: number,
  written: boolean,
): Finding[] {
  if (replicationFactor === 1)
    return [warning('it has one replica: with its broker it is away', 'give it three replicas')];
  const findings: Finding[] = [];
  if (written && needed >= replicationFactor)
    findings.push(
      warning(
        `min.insync.replicas is ${needed} of ${replicationFactor} replicas: one broker away, and nothing can be written`,
        'have one replica more than min.insync.replicas',
      ),
    );
  if (written && needed < 2)
    findings.push(
      warning(
        'min.insync.replicas is 1: what was acknowledged may be lost with one broker',
        'set min.insync.replicas=2',
      ),
    );
  if (settings.get('unclean.leader.election.enable') === 'true')
    findings.push(
      warning(
        'unclean.leader.election.enable is true: what was acknowledged may be lost',
        'set unclean.leader.election.enable=false',
      ),
    );
  return findings;
}
