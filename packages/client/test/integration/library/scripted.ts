/** The public client with a scripted server, on a clock that a test controls. */
import type { TestContext } from 'node:test';
import { ContentReviewClient, type ContentReviewClientOptions } from '../../../src/index.ts';
import { InstantClock } from '../../unit/service/fakes.ts';
import { type Handler, httpServer, KEY, type TestServer } from '../service/servers.ts';

/** Clock on which sleeping takes no time. Timers fire when the clock has passed their time. */
export class SteppingClock extends InstantClock {
  readonly #armed = new Set<{ readonly atMs: number; readonly fire: () => void }>();

  override after(ms: number, fire: () => void): () => void {
    const entry = { atMs: this.now() + ms, fire };
    this.#armed.add(entry);
    return () => this.#armed.delete(entry);
  }

  get armed(): number {
    return this.#armed.size;
  }

  override async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await super.sleep(ms, signal);
    for (const entry of this.#armed) {
      if (entry.atMs > this.now() || !this.#armed.delete(entry)) continue;
      entry.fire();
    }
    signal?.throwIfAborted();
  }
}

export async function scripted(
  t: TestContext,
  handler: Handler,
  options: Partial<ContentReviewClientOptions> = {},
): Promise<{ client: ContentReviewClient; clock: InstantClock; server: TestServer }> {
  const server = await httpServer(t, handler);
  const clock = new InstantClock();
  const client = new ContentReviewClient({ baseUrl: server.url, apiKey: KEY, clock, ...options });
  t.after(() => client.close());
  return { client, clock, server };
}

/** Reads a whole download. */
export async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of source) out.push(item);
  return out;
}
