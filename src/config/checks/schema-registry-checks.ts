/** How the options of `schemaRegistry` fit together, and who needs it. */
import type { Partially } from '../load/draft.ts';
import type { Finding } from '../load/problem.ts';
import { isLoopback } from '../loopback.ts';
import type { Config } from '../schema.ts';

type Draft = Pick<Partially<Config>, 'schemaRegistry' | 'pipelines'>;

/** Formats of values with the id of a schema in front. */
const REGISTRY_FORMATS: readonly (string | undefined)[] = ['avro', 'json-schema', 'protobuf'];

export function schemaRegistryChecks({ schemaRegistry = {}, pipelines = [] }: Draft): Finding[] {
  return [
    ...credentialChecks(schemaRegistry),
    ...(schemaRegistry.urls?.length === 0 ? missingChecks(pipelines) : []),
  ];
}

function missingChecks(pipelines: NonNullable<Draft['pipelines']>): Finding[] {
  return pipelines.flatMap((pipeline, index) =>
    (['source', 'output'] as const).flatMap((side): Finding[] => {
      const format = pipeline?.[side]?.format;
      if (!REGISTRY_FORMATS.includes(format)) return [];
      return [
        {
          path: ['pipelines', index, side, 'format'],
          message: `${format} needs a schema registry: set schemaRegistry.urls`,
        },
      ];
    }),
  );
}

function credentialChecks(registry: NonNullable<Draft['schemaRegistry']>): Finding[] {
  const { urls = [], username, password, token, insecureWithoutTls } = registry;
  const findings: Finding[] = [];
  const object = (option: string, message: string) =>
    findings.push({ path: ['schemaRegistry', option], message });
  const hasName = username !== undefined && username !== '';
  if (hasName && password === undefined)
    object('password', 'required beside schemaRegistry.username');
  if (username === '' && password !== undefined)
    object('username', 'required beside schemaRegistry.password');
  if (token !== undefined && (hasName || password !== undefined)) {
    object('token', 'is another way to log in than username and password: remove one of the two');
  }
  const open = urls.find((url) => url !== undefined && isOpen(url));
  if (
    open !== undefined &&
    insecureWithoutTls === false &&
    (password !== undefined || token !== undefined)
  ) {
    object(
      'urls',
      'by http the credentials could be read by anybody on the way: write https://, or set schemaRegistry.insecureWithoutTls',
    );
  }
  return findings;
}

function isOpen(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
}
