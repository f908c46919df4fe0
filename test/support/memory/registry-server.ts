/**
 * HTTP server for the registry in memory, with the requests that the connector uses. Used by tests that configure an
 * address.
 */
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { RegistryRefused, RegistryUnavailable } from '../../../src/events/registry/index.ts';
import type { NewSchema, SubjectVersion } from '../../../src/events/registry/registry.ts';
import { type FakeRegistry, fakeRegistry } from '../stack/registry.ts';
import type { MemoryRegistry } from './schema-registry.ts';

/** @param registry called for each request, so that each test may have its own */
export async function serveRegistry(registry: () => MemoryRegistry): Promise<FakeRegistry> {
  const server = await fakeRegistry();
  server.instead = (request, response) =>
    void answer(registry(), request).then(({ status, body }) =>
      response
        .writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
        .end(JSON.stringify(body)),
    );
  return server;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function answer(registry: MemoryRegistry, request: IncomingMessage): Promise<Answer> {
  try {
    const body = request.method === 'GET' ? undefined : newSchema((await json(request)) as Sent);
    return (
      (await route(registry, `${request.method} ${request.url?.replace(/\?.*/, '')}`, body)) ??
      unknown
    );
  } catch (error) {
    if (error instanceof RegistryUnavailable)
      return { status: Number(error.code) || 503, body: {} };
    if (!(error instanceof RegistryRefused)) throw error;
    return { status: error.status, body: { error_code: error.errorCode, message: error.message } };
  }
}

const unknown: Answer = { status: 404, body: { error_code: 40_401, message: 'not found' } };

async function route(
  registry: MemoryRegistry,
  path: string,
  schema: NewSchema | undefined,
): Promise<Answer | undefined> {
  const { signal } = new AbortController();
  const [, id] = /^GET \/schemas\/ids\/(\d+)$/.exec(path) ?? [];
  if (id !== undefined) {
    const known = await registry.byId(Number(id), signal);
    return known && { status: 200, body: { schema: known.text, schemaType: known.type } };
  }
  if (/^GET \/subjects\/[^/]+\/versions$/.test(path)) {
    const versions = await registry.versions(decodeURIComponent(path.split('/')[2] ?? ''), signal);
    return versions && { status: 200, body: versions };
  }
  const [, asked, subject, version, latest] =
    /^(GET|POST) (?:\/compatibility)?\/subjects\/([^/]+)(\/versions)?(\/latest)?$/.exec(path) ?? [];
  const name = decodeURIComponent(subject ?? '');
  if (subject === undefined) return undefined;
  if (asked === 'GET')
    return latest === undefined ? undefined : found(await registry.version(name, 'latest', signal));
  if (schema === undefined) return undefined;
  if (path.includes('/compatibility/')) {
    const { compatible, messages } = await registry.compatibility(name, schema, signal);
    return { status: 200, body: { is_compatible: compatible, messages } };
  }
  if (version === undefined) return found(await registry.lookup(name, schema, signal));
  return { status: 200, body: { id: await registry.register(name, schema, signal) } };
}

const found = (one: SubjectVersion | undefined): Answer | undefined =>
  one && {
    status: 200,
    body: {
      subject: one.subject,
      version: one.version,
      id: one.id,
      schema: one.text,
      schemaType: one.type,
    },
  };

interface Sent {
  readonly schema: string;
  readonly schemaType?: NewSchema['type'];
}

const newSchema = ({ schema, schemaType = 'AVRO' }: Sent): NewSchema => ({
  type: schemaType,
  text: schema,
});
