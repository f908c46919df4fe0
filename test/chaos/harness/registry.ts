/** The schema registry of a run: review events are written with its schemas. */

import { type LocalRegistry, startRegistry } from '../../../dev/registry/start.ts';
import { NOWHERE, type SchemaIds } from '../load/registered-events.ts';

const SUBJECT = 'chaos-events-value';
const ANSWER_MS = 10_000;
/** Without it Apicurio does not see that a text is a JSON Schema. */
const DRAFT = 'http://json-schema.org/draft-07/schema#';

export class ChaosRegistry implements SchemaIds {
  readonly #registry: LocalRegistry;
  #id = NOWHERE;
  #versions = 0;

  private constructor(registry: LocalRegistry) {
    this.#registry = registry;
  }

  static async start(onProgress: (message: string) => void): Promise<ChaosRegistry> {
    const registry = new ChaosRegistry(await startRegistry({ onProgress }));
    try {
      registry.#id = await registry.register();
      return registry;
    } catch (error) {
      await registry.stop();
      throw error;
    }
  }

  get url(): string {
    return this.#registry.url;
  }

  get current(): number {
    return this.#id;
  }

  /** Producers write with this schema from here on. */
  use(id: number): void {
    this.#id = id;
  }

  /** A version that no connector has seen. @returns its id */
  async register(): Promise<number> {
    const schema = JSON.stringify({
      $schema: DRAFT,
      type: 'object',
      title: `version ${++this.#versions}`,
    });
    const answer = await fetch(`${this.url}/subjects/${SUBJECT}/versions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/vnd.schemaregistry.v1+json' },
      body: JSON.stringify({ schemaType: 'JSON', schema }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!answer.ok)
      throw new Error(`the schema registry answered ${answer.status}: ${await answer.text()}`);
    return ((await answer.json()) as { id: number }).id;
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    await this.#registry.kill();
  }

  /** On its data. */
  async restart(): Promise<void> {
    await this.#registry.restart();
  }

  async stop(): Promise<void> {
    await this.#registry.stop();
  }
}
