/** File with the position at which an audit ended (`audit --position`). */
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import * as v from 'valibot';
import { parseJson } from '../../packages/client/src/base/json/parse-json.ts';
import { CommandFailed } from '../../packages/client/src/cli/exit-codes.ts';
import type { AuditProgress } from '../tools/inspect/audit.ts';

/** The offsets of 100,000 partitions are shorter. */
const MAX_BYTES = 16 * 1024 * 1024;

const OFFSET = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const POSITION = v.object({
  pipeline: v.string(),
  topic: v.string(),
  sources: v.array(v.tuple([OFFSET, v.object({ first: OFFSET, next: OFFSET })])),
  outputs: v.array(v.tuple([v.string(), OFFSET])),
});

/** Pipeline and source topic of an audit. */
export interface AuditSubject {
  readonly pipeline: string;
  readonly topic: string;
}

/** @returns undefined if there is no such file. @throws CommandFailed for another content */
export async function readPosition(
  file: string,
  { pipeline, topic }: AuditSubject,
): Promise<AuditProgress | undefined> {
  let text: string;
  try {
    const about = await stat(file);
    if (!about.isFile() || about.size > MAX_BYTES)
      throw new Error(`${file} is not a file of at most ${MAX_BYTES} bytes`);
    text = await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CommandFailed(`--position: ${message}`);
  }
  const position = v.safeParse(POSITION, parsed(text));
  if (!position.success || position.output.pipeline !== pipeline || position.output.topic !== topic)
    throw new CommandFailed(
      `--position: ${file} is not the position of an audit of pipeline ${pipeline} and topic ${topic}: use another file, or delete it`,
    );
  const { sources, outputs } = position.output;
  return { sources: new Map(sources), outputs: new Map(outputs) };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Replaces the file, so that it is whole at all times. @throws CommandFailed */
export async function writePosition(
  file: string,
  { pipeline, topic }: AuditSubject,
  { sources, outputs }: AuditProgress,
): Promise<void> {
  const draft = `${file}.new`;
  const position = { pipeline, topic, sources: [...sources], outputs: [...outputs] };
  try {
    await writeFile(draft, `${JSON.stringify(position)}\n`);
    await rename(draft, file);
  } catch (error) {
    throw new CommandFailed(`--position: ${(error as Error).message}`);
  }
}
