/** File with the position at which an audit ended (option `audit --position`). */
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import * as v from 'valibot';
import { tryParseJson } from '../../packages/client/src/base/json/parse-json.ts';
import { CommandFailed } from '../../packages/client/src/cli/exit-codes.ts';
import type { AuditPosition, PositionStore } from '../tools/inspect/audit.ts';

/** Maximum size of a position file. A position with 100,000 partitions is smaller. */
const MAX_BYTES = 16 * 1024 * 1024;

const OFFSET = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const POSITION = v.object({
  pipeline: v.string(),
  topic: v.string(),
  sources: v.array(v.tuple([OFFSET, v.object({ first: OFFSET, next: OFFSET })])),
  outputs: v.array(v.tuple([v.string(), OFFSET])),
});

/**
 * Returns a store for the audit position of one pipeline and source topic. It is kept in a file.
 * Methods throw CommandFailed if the file cannot be used.
 */
export function positionFile(file: string, pipeline: string, topic: string): PositionStore {
  return {
    async read() {
      const text = await textOf(file);
      if (text === undefined) return undefined;
      const found = v.safeParse(POSITION, tryParseJson(text));
      if (!found.success || found.output.pipeline !== pipeline || found.output.topic !== topic)
        throw new CommandFailed(
          `--position: ${file} is not the position of an audit of pipeline ${pipeline} and topic ${topic}: use another file, or delete it`,
        );
      const { sources, outputs } = found.output;
      return { sources: new Map(sources), outputs: new Map(outputs) };
    },
    // The position is written to another file, which then replaces the old one atomically.
    async write({ sources, outputs }: AuditPosition) {
      const draft = `${file}.new`;
      const position = { pipeline, topic, sources: [...sources], outputs: [...outputs] };
      try {
        await writeFile(draft, `${JSON.stringify(position)}\n`);
        await rename(draft, file);
      } catch (error) {
        throw new CommandFailed(`--position: ${(error as Error).message}`);
      }
    },
  };
}

/** @returns the file's text, or undefined if the file does not exist */
async function textOf(file: string): Promise<string | undefined> {
  try {
    const about = await stat(file);
    if (!about.isFile() || about.size > MAX_BYTES)
      throw new Error(`${file} is not a file of at most ${MAX_BYTES} bytes`);
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CommandFailed(`--position: ${message}`);
  }
}
