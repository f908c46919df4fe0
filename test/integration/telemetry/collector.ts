/** OpenTelemetry collector for tests, which receives spans as JSON and metrics in the binary encoding. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly JsonSpan[] }[];
  }[];
}

type JsonSpan = Omit<CollectedSpan, 'attributes' | 'links'> & {
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, unknown>>;
  }[];
  readonly links?: CollectedSpan['links'];
};

export class Collector implements AsyncDisposable {
  /** Bodies of all requests with spans. */
  readonly bodies: string[] = [];
  /** Bodies of all requests with metrics. */
  readonly metrics: Buffer[] = [];
  readonly #server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (request.url === '/v1/metrics') this.metrics.push(body);
    else this.bodies.push(String(body));
    response.writeHead(200).end();
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Spans of all requests. */
  get spans(): CollectedSpan[] {
    return this.bodies
      .flatMap((body) => (JSON.parse(body) as Exported).resourceSpans)
      .flatMap(({ scopeSpans }) => scopeSpans)
      .flatMap(({ spans }) => spans)
      .map(({ attributes = [], links = [], ...span }) => ({
        ...span,
        links,
        attributes: Object.fromEntries(
          attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
        ),
      }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
