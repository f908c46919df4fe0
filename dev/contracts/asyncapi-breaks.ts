/**
 * Breaking changes in the AsyncAPI document alone: which messages there are, their headers, and
 * values that have no file of their own. Headers and such values are JSON Schemas, and are compared
 * as those are.
 */
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Break } from './break.ts';
import type { Direction } from './contracts.ts';
import type { JsonSchema } from './json-schema.ts';
import { jsonSchemaBreaks } from './json-schema-breaks.ts';

/** A document, and the folder that its references to files start from. */
export interface AsyncApi {
  readonly text: string;
  readonly directory: URL;
}

interface Message {
  readonly direction: Direction;
  readonly contentType: string;
  /** Any record will do where nothing is said. */
  readonly headers: JsonSchema;
  /** undefined for what has a file, which is compared by itself. */
  readonly payload: JsonSchema | undefined;
}

type Part = Readonly<Record<string, unknown>>;

const ANY: JsonSchema = { type: 'object' };

export function asyncApiBreaks(published: AsyncApi, current: AsyncApi): Break[] {
  const [older, newer] = [new Document(published), new Document(current)];
  const breaks: Break[] = [];
  if (older.id !== newer.id)
    breaks.push({ at: 'id', what: `was "${older.id}": consumers refer to it` });
  const messages = newer.messages();
  for (const [name, message] of older.messages()) {
    const now = messages.get(name);
    if (now === undefined)
      breaks.push({
        at: name,
        what: 'the message was removed from the channel, or no operation sends or receives it',
      });
    else breaks.push(...messageBreaks(name, message, now));
  }
  return breaks;
}

function messageBreaks(name: string, older: Message, newer: Message): Break[] {
  const { direction } = older;
  const breaks: Break[] = [];
  if (newer.direction !== direction)
    breaks.push({ at: name, what: `was ${direction}, and is ${newer.direction}` });
  if (newer.contentType !== older.contentType)
    breaks.push({
      at: `${name}/contentType`,
      what: `was ${older.contentType}, and is ${newer.contentType}`,
    });
  for (const part of ['headers', 'payload'] as const) {
    const [was, is] = [older[part], newer[part]];
    if (was === undefined) continue;
    for (const { at, what } of jsonSchemaBreaks(was, is ?? ANY, direction))
      breaks.push({ at: `${name}/${part}${at}`, what });
  }
  return breaks;
}

class Document {
  readonly #root: Part;
  readonly #directory: URL;

  constructor({ text, directory }: AsyncApi) {
    this.#root = parse(text) as Part;
    this.#directory = directory;
  }

  get id(): string {
    return String(this.#root.id);
  }

  /** By channel and name, of what the operations send and receive. */
  messages(): Map<string, Message> {
    const found = new Map<string, Message>();
    const channels = partOf(this.#root.channels);
    for (const operation of Object.values(partOf(this.#root.operations)).map(partOf)) {
      const channel = partOf(this.#resolved(operation.channel));
      const name =
        Object.keys(channels).find((one) => this.#resolved(channels[one]) === channel) ?? 'unknown';
      const direction = operation.action === 'send' ? 'output' : 'input';
      for (const [key, message] of Object.entries(partOf(channel.messages)))
        found.set(`${name}/${key}`, this.#message(partOf(this.#resolved(message)), direction));
    }
    return found;
  }

  /** Traits come first, the message's own over them, as AsyncAPI merges the two. */
  #message(message: Part, direction: Direction): Message {
    const traits = ((message.traits ?? []) as readonly unknown[]).map((trait) =>
      partOf(this.#resolved(trait)),
    );
    const own = [...traits, message].flatMap(({ headers }) =>
      headers === undefined ? [] : [this.#schema(headers)],
    );
    const { payload } = message;
    const inFile =
      payload === undefined || isFile(payload) || partOf(payload).schemaFormat !== undefined;
    return {
      direction,
      contentType: String(message.contentType ?? this.#root.defaultContentType),
      headers: own.reduce(merged, ANY),
      payload: inFile ? undefined : this.#schema(payload),
    };
  }

  /** With everything that it refers to in this document in its place; a file is a schema of its own, references included. */
  #schema(value: unknown): JsonSchema {
    if (isFile(value)) return this.#resolved(value) as JsonSchema;
    const whole = (part: unknown): unknown => {
      if (Array.isArray(part)) return part.map(whole);
      if (typeof part !== 'object' || part === null) return part;
      if ('$ref' in part) return whole(this.#resolved(part));
      return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, whole(one)]));
    };
    return whole(value) as JsonSchema;
  }

  /** Target of a reference, or the value itself. @throws Error for one that leads nowhere */
  #resolved(value: unknown): unknown {
    const { $ref } = partOf(value);
    if (typeof $ref !== 'string') return value;
    if (!$ref.startsWith('#/')) {
      const file = new URL($ref, this.#directory);
      // That it is gone is said of the file, too.
      return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : ANY;
    }
    const target = $ref
      .slice(2)
      .split('/')
      .reduce((at: unknown, name) => partOf(at)[name], this.#root);
    if (target === undefined) throw new Error(`"${$ref}" leads nowhere in the AsyncAPI document`);
    return this.#resolved(target);
  }
}

/** JSON merge patch (RFC 7396), as AsyncAPI has it for traits. */
function merged(base: JsonSchema, patch: JsonSchema): JsonSchema {
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else
      result[name] =
        isPart(value) && isPart(result[name])
          ? merged(result[name] as JsonSchema, value as JsonSchema)
          : value;
  }
  return result;
}

const isFile = (value: unknown): boolean => {
  const { $ref } = partOf(value);
  return typeof $ref === 'string' && !$ref.startsWith('#/');
};

const isPart = (value: unknown): value is Part =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const partOf = (value: unknown): Part => (isPart(value) ? value : {});
