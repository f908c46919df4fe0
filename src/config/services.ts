/** Services of a configuration. The group `service` is the service with the name `default`. */
import { err, ok, type Result } from '../../packages/client/src/base/result.ts';
import { hostOf, isUnencrypted } from '../../packages/client/src/http/web-address.ts';
import { DEFAULT_SERVICE } from '../core/service-names.ts';
import { type Finding, formatPath, type Path } from './load/problem.ts';
import type { Draft } from './load/read-options.ts';
import type { Config } from './schema.ts';

export type ServiceConfigs = Pick<Config, 'service' | 'services'>;
export type ServiceConfig = NonNullable<Config['service']>;

/** Returns every service by name. */
export function servicesOf<C extends Draft<ServiceConfigs>>({ service, services }: C) {
  const all = { ...(service && { [DEFAULT_SERVICE]: service }), ...services };
  return new Map(Object.entries(all)) as ReadonlyMap<string, NonNullable<C['service']>>;
}

/** Returns the path of a service's options. */
const servicePath = (name: string): Path =>
  name === DEFAULT_SERVICE ? ['service'] : ['services', name];

/** Returns the path of a service's options as a string. */
export const serviceOption = (name: string): string => formatPath(servicePath(name));

/**
 * Returns the part of a document that configures one service, or an error for the user.
 * @param given name of the service; by default `service`, or the only one
 */
export function chosenSection(document: unknown, given: string | undefined): Result<object> {
  const { service, services } = Object(document);
  const names = Object.keys(Object(services));
  const name = given ?? (service || names.length !== 1 ? DEFAULT_SERVICE : String(names[0]));
  if (names.includes(name)) return ok({ services: { [name]: services[name] } });
  // If there is no service at all, the options of `service` are reported as required.
  if (name === DEFAULT_SERVICE && (service || names.length === 0))
    return ok({ service: service ?? {} });
  const known = [...(service ? [DEFAULT_SERVICE] : []), ...names].join(', ');
  return err(`has no service ${name}: choose one with --service (${known})`);
}

/** Reports pipelines without a service, and services without a pipeline. */
export function serviceFindings(draft: Draft<Config>): Finding[] {
  const { pipelines = [] } = draft;
  const services = servicesOf(draft);
  const names = [...services.keys()];
  const used = pipelines.map(({ service }) => service);
  const findings = [...services].flatMap(([name, service]) => secrecyFindings(name, service));
  if (names.length === 0 && (used.length === 0 || used.includes(DEFAULT_SERVICE)))
    findings.push({ path: ['service'], message: 'required: a mapping with baseUrl and apiKey' });
  else
    for (const [index, name] of used.entries()) {
      if (name === undefined || services.has(name)) continue;
      const choice = names.length === 0 ? '' : `, or choose one of ${names.join(', ')}`;
      const path = ['pipelines', index, 'service'];
      findings.push({
        path,
        message: `there is no service ${name}: add ${serviceOption(name)}${choice}`,
      });
    }
  // A name that no service has may be the misspelt name of a service without pipelines.
  if (used.length > 0 && used.every((name) => services.has(name ?? '')))
    for (const name of names.filter((one) => !used.includes(one))) {
      const message = `no pipeline uses this service: remove it, or set pipelines[].service to ${name}`;
      findings.push({ path: servicePath(name), message });
    }
  return findings;
}

function secrecyFindings(
  name: string,
  { baseUrl = '', allowHttp = [] }: Draft<ServiceConfig>,
): Finding[] {
  const allowed = allowHttp.filter((entry) => entry !== undefined);
  if (!isUnencrypted(baseUrl, allowed)) return [];
  const message = `http sends the API key unencrypted: write https://, or allow the host with ${serviceOption(name)}.allowHttp: [${hostOf(new URL(baseUrl))}]`;
  return [{ path: [...servicePath(name), 'baseUrl'], message }];
}
