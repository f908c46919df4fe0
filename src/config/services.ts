/** Services of a configuration. The group `service` is the service with the name `default`. */
import { nearest } from '../../packages/client/src/base/nearest.ts';
import { err, ok, type Result } from '../../packages/client/src/base/result.ts';
import { hostOf, isUnencrypted } from '../../packages/client/src/http/web-address.ts';
import { DEFAULT_SERVICE } from '../core/service-names.ts';
import { type Finding, formatPath, type Path } from './load/problem.ts';
import type { Draft } from './load/read-options.ts';
import type { Config, PipelineConfig } from './schema.ts';

/** The part of a configuration that has the services. */
export type ServiceConfigs = Pick<Config, 'service' | 'services'>;
export type ServiceConfig = NonNullable<Config['service']>;

/** Returns every service by name. */
export function servicesOf(config: ServiceConfigs): ReadonlyMap<string, ServiceConfig>;
export function servicesOf(
  config: Draft<ServiceConfigs>,
): ReadonlyMap<string, Draft<ServiceConfig>>;
export function servicesOf({
  service,
  services = {},
}: Draft<ServiceConfigs>): ReadonlyMap<string, object> {
  const named = Object.entries(services).map(([name, entry]) => [name, entry ?? {}] as const);
  return new Map(service === undefined ? named : [[DEFAULT_SERVICE, service], ...named]);
}

/** Returns the service of a pipeline, which the checks of the configuration guarantee. */
export function serviceOf(config: ServiceConfigs, { service }: PipelineConfig): ServiceConfig {
  return servicesOf(config).get(service) as ServiceConfig;
}

/** Returns the path of a service's options. */
export const servicePath = (name: string): Path =>
  name === DEFAULT_SERVICE ? ['service'] : ['services', name];

/**
 * Returns the part of a document that configures one service, or an error for the user.
 * @param given name of the service; by default `service`, or the only one
 */
export function chosenSection(document: unknown, given: string | undefined): Result<object> {
  const { service, services } = Object(document);
  const named: Readonly<Record<string, unknown>> = Object(services);
  const names = [...(service ? [DEFAULT_SERVICE] : []), ...Object.keys(named)];
  // The options of the service are reported as required.
  if (given === undefined && names.length === 0) return ok({ service: {} });
  const [only = DEFAULT_SERVICE] = names.length === 1 ? names : [];
  const name = given ?? only;
  if (names.includes(name))
    return ok(name === DEFAULT_SERVICE ? { service } : { services: { [name]: named[name] } });
  const known = names.join(', ') || 'none';
  return err(
    given === undefined
      ? `has several services: choose one with --service (${known})`
      : `has no service ${name}: it has ${known}`,
  );
}

/** Each pipeline needs a service, and each service a pipeline. */
export function serviceFindings(draft: Draft<Config>): Finding[] {
  const { pipelines = [] } = draft;
  const services = servicesOf(draft);
  const missing = pipelines.flatMap(({ service }, index) => {
    const problem = service === undefined ? undefined : missingService(service, services);
    return problem === undefined ? [] : [{ path: ['pipelines', index, 'service'], ...problem }];
  });
  const secrecy = [...services].flatMap(([name, service]) =>
    secrecyFindings(servicePath(name), service),
  );
  if (pipelines.length === 0) return services.size === 0 ? [REQUIRED, ...secrecy] : secrecy;
  // A name that is missing or invalid may be the misspelt name of a service without pipelines.
  const isKnown = missing.length === 0 && pipelines.every(({ service }) => service !== undefined);
  const unused = [...services.keys()].filter(
    (name) => isKnown && !pipelines.some(({ service }) => service === name),
  );
  return [
    ...missing,
    ...unused.map((name) => ({
      path: servicePath(name),
      message: `no pipeline uses this service: remove it, or set pipelines[].service to ${name}`,
    })),
    ...secrecy,
  ];
}

const REQUIRED: Finding = {
  path: ['service'],
  message: 'required: a mapping with baseUrl and apiKey',
};

/** Returns the problem of a pipeline whose service is missing, and its path if it is not that of the pipeline. */
function missingService(
  name: string,
  services: ReadonlyMap<string, unknown>,
): (Pick<Finding, 'message'> & Partial<Finding>) | undefined {
  const names = [...services.keys()];
  if (services.has(name)) return undefined;
  if (name === DEFAULT_SERVICE) {
    if (names.length === 0) return REQUIRED;
    return { message: `required without the group service: one of ${names.join(', ')}` };
  }
  const close = nearest(name, names);
  const known = names.length === 0 ? '' : `, or choose one of ${names.join(', ')}`;
  const remedy = close === undefined ? `add services.${name}${known}` : `did you mean ${close}?`;
  return { message: `there is no service ${name}: ${remedy}` };
}

function secrecyFindings(
  path: Path,
  { baseUrl = '', allowHttp = [] }: Draft<ServiceConfig>,
): Finding[] {
  const allowed = allowHttp.filter((entry) => entry !== undefined);
  if (!isUnencrypted(baseUrl, allowed)) return [];
  const message = `http sends the API key unencrypted: write https://, or allow the host with ${formatPath(path)}.allowHttp: [${hostOf(new URL(baseUrl))}]`;
  return [{ path: [...path, 'baseUrl'], message }];
}
