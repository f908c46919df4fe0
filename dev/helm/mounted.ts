/** Runs the connector's own `check` on the contents of a rendered pod's volume: the ConfigMap, and files for its Secrets. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { execute } from './execute.ts';
import type { Manifest } from './schemas.ts';

interface Projection {
  readonly name: string;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

interface PodSpec {
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
  readonly volumes: readonly {
    readonly name: string;
    readonly projected?: {
      readonly sources: readonly {
        readonly configMap?: Projection;
        readonly secret?: Projection;
      }[];
    };
  }[];
}

/** Stand-in for a Secret: a PEM file with a certificate and a key. */
const SECRET =
  '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n';

/**
 * @param directory an empty directory
 * @throws Error with the output of `check` if it rejects the configuration
 */
export async function checkMounted(
  manifests: readonly Manifest[],
  repository: string,
  directory: string,
): Promise<void> {
  const deployment = manifests.find(({ kind }) => kind === 'Deployment');
  const pod = (deployment as { spec: { template: { spec: PodSpec } } } | undefined)?.spec.template
    .spec;
  const [container] = pod?.containers ?? [];
  if (pod === undefined || container === undefined)
    throw new Error('there is no Deployment with a container');

  for (const { name, mountPath } of container.volumeMounts) {
    for (const source of pod.volumes.find((volume) => volume.name === name)?.projected?.sources ??
      []) {
      const { configMap, secret } = source;
      for (const { key, path: file } of (configMap ?? secret)?.items ?? []) {
        const target = path.join(directory, mountPath, file);
        mkdirSync(path.dirname(target), { recursive: true });
        writeFileSync(
          target,
          secret === undefined
            ? fromConfigMap(manifests, configMap as Projection, key)
            : secretText(file),
        );
      }
    }
  }
  const config = container.args[container.args.indexOf('--config') + 1] as string;
  const env = Object.fromEntries(
    (container.env ?? []).map(({ name, value }) => [name, value ?? 'from-elsewhere']),
  );
  const main = path.join(repository, 'src/cli/main.ts');
  await execute(process.execPath, [main, 'check', '--config', path.join(directory, config)], {
    env: { PATH: process.env.PATH, ...env },
  });
}

function secretText(file: string): string {
  return /\.(crt|pem|key)$/.test(file) ? SECRET : 'secret\n';
}

/** Returns a key of the chart's ConfigMap, or a stand-in for a ConfigMap that already exists. */
function fromConfigMap(manifests: readonly Manifest[], { name }: Projection, key: string): string {
  const found = manifests.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name,
  );
  return (found as { data?: Record<string, string> } | undefined)?.data?.[key] ?? SECRET;
}
