/** An OpenTelemetry collector that a test plays: takes spans over OTLP/HTTP, as JSON or Protobuf, and shows them. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { otlpJson } from './otlp.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

export interface CollectorRequest {
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type JsonAttributes = readonly {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}[];
type JsonSpan = Omit<CollectedSpan, 'attributes' | 'events' | 'links'> & {
  readonly attributes?: JsonAttributes;
  readonly events?: CollectedSpan['events'];
  readonly links?: CollectedSpan['links'];
};

export class Collector implements AsyncDisposable {
  readonly requests: CollectorRequest[] = [];
  /** Status of every answer; undefined: no answer. */
  status: number | undefined = 200;
  #open = 0;
  readonly #server = createServer(async (request, response) => {
    this.#open++;
    response.once('close', () => this.#open--);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    this.requests.push({ path: request.url, headers: request.headers, body });
    if (this.status !== undefined) response.writeHead(this.status).end();
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  /** Requests that are being answered, or waited for. */
  get pending(): number {
    return this.#open;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Spans of every request. @throws AssertionError for Protobuf that is not OTLP */
  get spans(): CollectedSpan[] {
    return this.#each(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) =>
        spans.map((span) => ({
          ...span,
          attributes: valuesOf(span.attributes),
          events: span.events ?? [],
          links: span.links ?? [],
        })),
      ),
    );
  }

  get resources(): Readonly<Record<string, unknown>>[] {
    return this.#each(({ resource }) => [valuesOf(resource.attributes)]);
  }

  #each<T>(
    take: (one: {
      resource: { attributes?: JsonAttributes };
      scopeSpans: readonly { spans: readonly JsonSpan[] }[];
    }) => T[],
  ): T[] {
    return this.requests.flatMap(({ headers, body }) => {
      const isProtobuf = headers['content-type'] === 'application/x-protobuf';
      const text = isProtobuf ? otlpJson(body) : String(body);
      return (JSON.parse(text).resourceSpans as Parameters<typeof take>[0][]).flatMap(take);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function valuesOf(attributes: JsonAttributes = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
