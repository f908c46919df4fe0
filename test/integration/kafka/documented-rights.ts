/** Rights that docs/kafka-security.md lists, read from its commands. */
import { readFileSync } from 'node:fs';
import type { Admin } from 'kafkajs';

/** Operation codes of kafkajs. */
const OPERATIONS = { Read: 3, Write: 4, Create: 5, Describe: 8, DescribeConfigs: 10 } as const;
const RESOURCES = { topic: 2, group: 3, 'transactional-id': 5 } as const;
const PATTERNS = { literal: 3, prefixed: 4 } as const;
const ALLOW = 3;

export interface Right {
  readonly operation: keyof typeof OPERATIONS;
  readonly resource: keyof typeof RESOURCES;
  readonly name: string;
  readonly pattern: keyof typeof PATTERNS;
}

/** @param names replacements for topics and groups of the page @throws Error if a command cannot be parsed */
export function documentedRights(
  principal: string,
  names: Readonly<Record<string, string>>,
): Right[] {
  const page = readFileSync(new URL('../../../docs/kafka-security.md', import.meta.url), 'utf8');
  const commands = page
    .split('\n')
    .filter((line) => line.startsWith('$ACLS ') && line.includes(` User:${principal} `));
  if (commands.length === 0) throw new Error(`the page has no commands for ${principal}`);
  return commands.flatMap((command) => {
    const target = /--(topic|group|transactional-id) (\S+)/.exec(command);
    const operations = [...command.matchAll(/--operation (\S+)/g)].map(
      ([, operation]) => operation as Right['operation'],
    );
    const [, resource, written = ''] = target ?? [];
    const base = written.replace(/-$/, '');
    const name = names[base];
    if (name === undefined || operations.some((operation) => OPERATIONS[operation] === undefined))
      throw new Error(`cannot be parsed: ${command}`);
    return operations.map((operation) => ({
      operation,
      resource: resource as Right['resource'],
      name: name + written.slice(base.length),
      pattern: command.includes('--resource-pattern-type prefixed')
        ? ('prefixed' as const)
        : ('literal' as const),
    }));
  });
}

const entryOf = (principal: string, { operation, resource, name, pattern }: Right) => ({
  resourceType: RESOURCES[resource],
  resourceName: name,
  resourcePatternType: PATTERNS[pattern],
  principal: `User:${principal}`,
  host: '*',
  operation: OPERATIONS[operation],
  permissionType: ALLOW,
});

export async function grant(
  admin: Admin,
  principal: string,
  rights: readonly Right[],
): Promise<void> {
  await admin.createAcls({ acl: rights.map((right) => entryOf(principal, right)) });
}

export async function revoke(admin: Admin, principal: string, right: Right): Promise<void> {
  await admin.deleteAcls({ filters: [entryOf(principal, right)] });
}
