import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { EXIT } from '../../../packages/client/src/cli/exit-codes.ts';
import { type Stack, startStack } from '../../support/stack/stack.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { tool } from '../tools/tool.ts';
import { documentedRights, grant, type Right, revoke } from './documented-rights.ts';
import { PASSWORD, type SecuredKafka } from './secured-kafka.ts';

interface Line {
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly remedy: string | null;
}

export function securityDoctorSuite({ kafka, caFile, sasl, file }: SecuredKafka): void {
  describe('doctor, with the rights of the connector', () => {
    const directory = temporaryDirectory();
    let stack: Stack;
    let rights: readonly Right[];
    before(async () => {
      const password = { file: file('doctor-password', PASSWORD) };
      stack = await startStack(kafka, directory, {
        partitions: 2,
        config: {
          kafka: {
            brokers: [sasl],
            tls: { enabled: true, ca: [caFile] },
            sasl: { mechanism: 'scram-sha-512', username: 'connector', password },
          },
        },
      });
      const { source, journal, decisions, deadLetters } = stack.topics;
      rights = documentedRights('connector', {
        'content-events': source,
        'content-events.decisions': decisions,
        'content-events.dead-letters': deadLetters,
        'content-review-posts': stack.group,
        'content-review-posts.journal': journal,
      });
      await grant(await kafka.admin(), 'connector', rights);
    });
    after(() => stack?.stop());

    async function lines(
      configFile = stack.configFile,
    ): Promise<{ readonly code: number; readonly byCheck: ReadonlyMap<string, Line> }> {
      const { code, out, err } = await tool('doctor', '--config', configFile, '--json');
      assert.equal(err, '');
      assert.ok(!out.includes(PASSWORD));
      const all = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Line);
      return { code, byCheck: new Map(all.map((line) => [line.check, line])) };
    }

    it('finds nothing wrong with the documented rights', async () => {
      const { code, byCheck } = await lines();
      const others = [...byCheck.values()].filter(({ status }) => status !== 'ok');
      assert.deepEqual(others, []);
      assert.equal(code, EXIT.ok);
      assert.match(
        byCheck.get('kafka.connect')?.found ?? '',
        /TLS, scram-sha-512, as User:connector$/,
      );
      assert.match(
        byCheck.get('certificates')?.found ?? '',
        /^the first of 2 to expire is .*, on \d{4}-\d{2}-\d{2}/,
      );
    });

    it('says in one line that the login is refused, and tries nothing that needs it', async () => {
      const text = readFileSync(stack.configFile, 'utf8');
      const wrong = file(
        'doctor-wrong.yaml',
        text.replace(/username: connector/, 'username: unknown-to-brokers'),
      );
      const { code, byCheck } = await lines(wrong);
      assert.equal(code, EXIT.problems);
      const failed = [...byCheck.values()].filter(({ status }) => status === 'failed');
      assert.deepEqual(
        failed.map(({ check }) => check),
        ['kafka.connect'],
      );
      assert.match(failed[0]?.found ?? '', /unknown-to-brokers.*kafka\.sasl\.username/);
      assert.match(
        byCheck.get('group.members')?.found ?? '',
        /^not tried, because kafka\.brokers .* failed$/,
      );
    });

    it('names each right that is missing in the line of what needs it', async () => {
      const { source, journal, decisions, deadLetters } = stack.topics;
      const taken: readonly [Right['operation'], string][] = [
        ['Read', source],
        ['Write', decisions],
        ['DescribeConfigs', deadLetters],
        ['Create', journal],
        ['Read', stack.group],
        ['Write', `${journal}-`],
      ];
      const admin = await kafka.admin();
      for (const [operation, name] of taken) {
        const right = rights.find((one) => one.operation === operation && one.name === name);
        assert.ok(right, `${operation} ${name}`);
        await revoke(admin, 'connector', right);
      }
      // Enough to find the coordinator: what is missing is the right to write.
      const found = {
        operation: 'Describe',
        resource: 'transactional-id',
        name: `${journal}-`,
        pattern: 'prefixed',
      } as const;
      await grant(admin, 'connector', [found]);
      const { code, byCheck } = await lines();
      assert.equal(code, EXIT.problems);
      const said = (check: string) =>
        `${byCheck.get(check)?.status}: ${byCheck.get(check)?.found} ${byCheck.get(check)?.remedy}`;
      const to = 'to User:connector \\(docs/kafka-security\\.md\\)';
      for (const [check, what] of [
        ['topic.source', `READ on topic ${source}`],
        ['topic.output', `WRITE on topic ${decisions}`],
        ['topic.deadLetters', `DESCRIBE_CONFIGS on topic ${deadLetters}`],
        ['group.members', `READ on group ${stack.group}`],
        ['transactions', `WRITE on transactional ids that begin with ${journal}-`],
      ] as const)
        assert.match(said(check), new RegExp(`^failed: .*grant ${what} ${to}`), check);
      assert.deepEqual(byCheck.get('journal')?.status, 'skipped');

      const [read] = rights.filter((one) => one.operation === 'Read' && one.name === source);
      await grant(admin, 'connector', [read as Right]);
      const again = await lines();
      assert.match(
        again.byCheck.get('journal')?.found ?? '',
        new RegExp(`grant CREATE on topic ${journal} ${to}`),
      );
    });
  });
}
