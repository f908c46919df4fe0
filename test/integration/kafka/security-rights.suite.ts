import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { BufferPool } from '../../../src/core/bytes/buffer-pool.ts';
import { EncodedRecords } from '../../../src/core/bytes/encoded-records.ts';
import { TransactionError } from '../../../src/core/ports/kafka.ts';
import { connectKafka, type KafkaConnection, Security } from '../../../src/kafka/index.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { eventually } from '../../support/eventually.ts';
import { type Stack, startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type ToolEnd, tool, toolJson } from '../tools/tool.ts';
import { documentedRights, grant, type Right, revoke } from './documented-rights.ts';
import { PASSWORD, type SecuredKafka } from './secured-kafka.ts';

const quiet = createLogger({ level: 'silent' });
const POISON = { partition: 0, value: 'not json' };
const bytes = (text: string) => Buffer.from(text);

export function securityRightsSuite({ kafka, caFile, sasl, file }: SecuredKafka): void {
  describe('a connector that has only the documented rights', () => {
    const directory = temporaryDirectory();
    let stack: Stack;
    let names: Record<string, string>;
    let rights: readonly Right[];
    /** Numbers of events and of poison records in the source topic. */
    let written = 19;
    let poisoned = 1;

    before(async () => {
      const tls = { enabled: true, ca: [caFile] };
      const user = {
        mechanism: 'scram-sha-256',
        username: 'connector',
        password: { file: file('connector-password', PASSWORD) },
      };
      stack = await startStack(kafka, directory, {
        partitions: 2,
        pipeline: {
          batch: { maxAge: '200ms' },
          review: { poll: '200ms' },
        },
        config: { kafka: { brokers: [sasl], tls, sasl: user } },
      });
      const { source, journal, decisions, deadLetters } = stack.topics;
      names = {
        'content-events': source,
        'content-events.decisions': decisions,
        'content-events.dead-letters': deadLetters,
        'content-events.dead-letters-content-review-posts.replay': `${deadLetters}-${stack.group}.replay`,
        'content-review-posts': stack.group,
        'content-review-posts.replay': `${stack.group}.replay`,
        'content-review-posts.journal': journal,
        'content-review-posts.journal-control': `${journal}-control`,
      };
      rights = documentedRights('connector', names);
      await grant(await kafka.admin(), 'connector', rights);
      await grant(await kafka.admin(), 'auditor', documentedRights('auditor', names));
    });
    after(() => stack?.stop());

    it('creates its journal, settles every record, and waits while any of its rights is revoked', async () => {
      const { source, decisions, deadLetters } = stack.topics;
      const event = (n: number) => ({
        partition: n % 2,
        value: JSON.stringify({ type: 'post', content: `text ${n}` }),
      });
      await kafka.write(source, [...Array.from({ length: written }, (_, n) => event(n)), POISON]);
      const replica = await stack.startReplica();
      const published = kafka.reader(decisions);
      let count = 0;
      const decided = (all: number) =>
        eventually(
          `${all} decisions`,
          async () => {
            count += (await published.readToEnd()).length;
            return count >= all;
          },
          { deadlineMs: 60_000 },
        ).catch((error) => {
          throw new Error(`${error.message}: ${count}\n${replica.lines.slice(-20).join('\n')}`);
        });
      await decided(written);
      for (const right of rights.filter(({ operation }) => /^(Read|Write)$/.test(operation))) {
        await revoke(await kafka.admin(), 'connector', right);
        const from = replica.lines.length;
        await kafka.write(source, [event(written++), POISON]);
        poisoned++;
        const isNamed = () =>
          replica.lines.slice(from).some((line) => line.includes(messageFor(right)));
        await eventually(messageFor(right), isNamed, { deadlineMs: 60_000 });
        await grant(await kafka.admin(), 'connector', [right]);
        await decided(written);
      }
      const dead = async () => (await kafka.readDecided(deadLetters)).length;
      await eventually('all dead letters', async () => (await dead()) >= poisoned);
      assert.deepEqual([count, await dead()], [written, poisoned]);
      assert.ok(
        (await replica.metric('kafka_tls_certificate_expiry_timestamp_seconds', {
          certificate: 'broker',
        })) >
          Date.now() / 1_000,
      );
      replica.process.kill('SIGTERM');
      assert.equal((await replica.process.exited).code, 0, replica.lines.slice(-5).join('\n'));
    });

    it('can be audited with read rights only', async () => {
      const auditor = configFor('auditor');
      const audit = await toolJson<{ verdict?: string }>('audit', '--config', auditor);
      assert.equal(audit.code, 0, JSON.stringify(audit));
      const explained = await toolJson('explain', '0:0', '--config', auditor);
      assert.equal(explained.code, 0, JSON.stringify(explained));
    });

    /** Grants the documented rights one by one. Before each grant, the command must name the missing right. */
    async function grantedOneByOne(user: string, command: () => ReturnType<typeof tool>) {
      const admin = await kafka.admin();
      await grant(admin, user, documentedRights('auditor', names));
      // Grants the rights in the order in which they are needed. The command does nothing while one is missing.
      for (const right of documentedRights(user, names).sort((a, b) => order(a) - order(b))) {
        await told(right, user, command);
        await grant(admin, user, [right]);
      }
      await eventually(`${user} has all rights`, async () => {
        const { code, out, err } = await command();
        if (code !== 0) throw new Error(out + err);
        return true;
      });
    }

    it('can be paused with additional rights, and each missing right is named', async () => {
      const operator = configFor('operator');
      await grantedOneByOne('operator', () =>
        tool('pause', 'reviews', '--config', operator, '--no-wait'),
      );
      assert.equal((await tool('resume', 'reviews', '--config', operator, '--no-wait')).code, 0);
    });

    it('can replay dead letters with additional rights, and each missing right is named', async () => {
      const flags = ['--config', configFor('replayer'), '--since', '1h', '--to', 'source', '--yes'];
      await grantedOneByOne('replayer', () => tool('dead-letters', 'replay', ...flags));
      assert.equal((await kafka.readDecided(stack.topics.source)).length, written + 2 * poisoned);
    });

    it('exits with code 4 and names a right that is missing at the start', async () => {
      const read = rightTo('Read', stack.topics.source);
      await revoke(await kafka.admin(), 'connector', read);
      const replica = await stack.startReplica();
      const { code } = await replica.process.exited;
      await grant(await kafka.admin(), 'connector', [read]);
      assert.equal(code, 4, replica.lines.join('\n'));
      assert.match(replica.lines.join('\n'), /startup refused/);
      assert.match(
        replica.lines.join('\n'),
        new RegExp(`grant READ on topic ${stack.topics.source} to User:connector`),
      );
    });

    it('names each right if only that right is missing', async () => {
      const admin = await kafka.admin();
      for (const right of rights) {
        await revoke(admin, 'connector', right);
        const expected = messageFor(right);
        let said = 'nothing';
        await eventually(
          `the message for ${right.operation} on ${right.resource} ${right.name}`,
          async () => {
            said = await probe(right).then(
              () => 'it works',
              (error: Error) => error.message,
            );
            return said.includes(expected);
          },
        ).catch((error) =>
          assert.fail(`${(error as Error).message}: expected ${expected}, and it was: ${said}`),
        );
        await grant(admin, 'connector', [right]);
      }
    });

    function configFor(user: string): string {
      const config = readFileSync(stack.configFile, 'utf8').replace(
        'username: connector',
        `username: ${user}`,
      );
      return file(`${user}-config.yaml`, config);
    }

    /** Waits for the message about a missing right, because rights change with a delay. */
    async function told(
      right: Right,
      principal: string,
      run: () => Promise<ToolEnd>,
    ): Promise<void> {
      const expected = messageFor(right, principal);
      let said = '';
      await eventually(
        `the message for ${right.operation} on ${right.resource} ${right.name}`,
        async () => {
          const { code, out, err } = await run();
          said = `${code}: ${out}${err}`;
          return code === 4 && err.includes(expected);
        },
      ).catch((error) =>
        assert.fail(`${(error as Error).message}: expected ${expected}, and it was ${said}`),
      );
    }

    function order({ resource }: Right): number {
      return ['transactional-id', 'topic', 'group'].indexOf(resource);
    }

    function rightTo(operation: Right['operation'], topic: string): Right {
      const found = rights.find((right) => right.operation === operation && right.name === topic);
      assert.ok(found !== undefined);
      return found;
    }

    function messageFor({ operation, resource, name }: Right, principal = 'connector'): string {
      const what = operation.replace(/([a-z])([A-Z])/, '$1_$2').toUpperCase();
      if (resource === 'topic') return `grant ${what} on topic ${name} to User:${principal}`;
      if (resource === 'group') return `grant ${what} on group ${name} to User:${principal}`;
      return `grant ${what} on transactional ids that begin with ${name} to User:${principal}`;
    }

    /** Uses the right through the part of the connector that needs it. */
    async function probe({ operation, resource, name }: Right): Promise<void> {
      const { source, journal } = stack.topics;
      await using opened = asConnector();
      const { connection } = opened;
      const topics = { groupId: stack.group, sourceTopic: source, journalTopic: journal };
      const signal = AbortSignal.timeout(10_000);
      if (operation === 'Create')
        await connection.admin.createTopic(name, {
          partitions: 1,
          replicationFactor: 1,
          settings: new Map(),
        });
      else if (operation === 'Read' && resource === 'topic')
        await connection
          .sourceReader({ topic: name })
          .read({ partition: 0, from: 0, to: 0 }, () => undefined, signal);
      else if (operation === 'DescribeConfigs') await connection.admin.describeTopic(name);
      else if (resource === 'group') await connection.admin.committed(stack.group, source, [0]);
      else {
        const producer = connection.producers({ ...topics, pool: new BufferPool(0) }).open(0);
        try {
          // One transaction for journal and outputs. Each refusal must still name its own topic.
          const record = { key: 'probe', value: null };
          const outputs = [stack.topics.decisions, stack.topics.deadLetters].map((topic) => ({
            topic,
            records: EncodedRecords.of([{ key: bytes('probe'), value: bytes('probe') }]),
          }));
          await producer.commit({ journal: [record], outputs }).catch((error: unknown) => {
            assert.ok(error instanceof TransactionError);
            throw error;
          });
        } finally {
          await producer.close();
        }
      }
    }

    function asConnector(): { readonly connection: KafkaConnection } & AsyncDisposable {
      const security = new Security(
        {
          tls: { ca: [caFile] },
          sasl: {
            mechanism: 'scram-sha-256',
            username: 'connector',
            password: async () => PASSWORD,
          },
        },
        quiet,
        () => undefined,
      );
      const { source, journal, decisions, deadLetters } = stack.topics;
      const uses = new Map([
        [source, 'READ'],
        [journal, 'READ and WRITE'],
        [decisions, 'WRITE'],
        [deadLetters, 'WRITE'],
      ]);
      const connection = connectKafka(
        { brokers: [sasl], clientId: 'rights', security, uses },
        quiet,
      );
      return { connection, [Symbol.asyncDispose]: () => connection.close() };
    }
  });
}
