/** The consumer group and the transactional ids, without joining the one or using the others. */
import { type Check, counted, type Finding, failed, ok, together, warning } from './check.ts';
import type { KafkaParts, PipelineParts } from './parts.ts';

const SHOWN = 3;

/** One that no shard has: theirs end in a number. */
export const transactionalIdOf = ({ engine }: Pick<PipelineParts, 'engine'>): string =>
  `${engine.journal.topic}-doctor`;

export function groupChecks(
  pipeline: PipelineParts,
  { probe, principal }: Pick<KafkaParts, 'probe' | 'principal'>,
  reached: Check,
  roundTrip: boolean,
): Check[] {
  const id = pipeline.engine.source.group;
  const transactionalId = transactionalIdOf(pipeline);
  const checks: Check[] = [
    {
      name: 'group.members',
      pipeline: pipeline.name,
      about: `group ${id}`,
      needs: [reached],
      async run() {
        const { state, members, isOurs, protocol, protocolType, allowed } = await probe.group(id);
        const findings: Finding[] = [];
        if (!isOurs) {
          const others = [
            ...new Set(
              members.map(({ clientId, host }) => `${clientId} at ${host.replace(/^\//, '')}`),
            ),
          ];
          findings.push(
            failed(
              `another kind of consumer uses it (${protocolType} ${protocol}: ${others.slice(0, SHOWN).join(', ')}${others.length > SHOWN ? ', …' : ''})`,
              'stop that consumer, or set another source.group',
            ),
          );
        }
        if (allowed === undefined)
          findings.push(warning('which rights are given cannot be told (Kafka 2.3 and later can)'));
        else if (!allowed.has('READ'))
          findings.push(
            failed(
              'the right to READ is missing',
              `grant READ on group ${id} to ${principal()} (docs/kafka-security.md)`,
            ),
          );
        const who =
          members.length === 0 ? 'no replica runs now' : counted(members.length, 'replica');
        return together(
          `${state === 'Dead' ? 'not there yet' : state}, ${who}, may READ`,
          findings,
        );
      },
    },
    {
      name: 'transactions.right',
      pipeline: pipeline.name,
      about: `transactional ids ${pipeline.engine.journal.topic}-…`,
      needs: [reached],
      async run() {
        await probe.tryTransactionalId(transactionalId);
        return ok('may WRITE');
      },
    },
  ];
  if (roundTrip) {
    checks.push({
      name: 'transactions.open',
      pipeline: pipeline.name,
      about: `transactional id ${transactionalId}`,
      needs: checks.slice(1),
      async run() {
        await probe.openTransactionalId(transactionalId, pipeline.transactionTimeoutMs);
        return ok(
          `initialised with kafka.transactionTimeout (${pipeline.transactionTimeoutMs} ms); nothing was written`,
        );
      },
    });
  }
  return checks;
}
