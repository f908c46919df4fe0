/** File with the position at which an audit ended (`audit --position`). */
import { readFile, rename, writeFile } from 'node:fs/promises';
import * as v from 'valibot';
import { parseJson } from '../../base/json/parse-json.ts';
import type { AuditProgress } from '../../tools/inspect/audit/audit.ts';
import { CommandFailed } from '../exit-codes.ts';

const OFFSET = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const POSITION = v.object({
  pipeline: v.string(),
  sources: v.array(v.tuple([OFFSET, v.object({ first: OFFSET, next: OFFSET })])),
  outputs: v.array(v.tuple([v.string(), OFFSET])),
});

/** @returns undefined if there is no such file. @throws CommandFailed for another content */
export async function readPosition(
  file: string,
  pipeline: string,
): Promise<AuditProgress | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new CommandFailed(`--position: ${message}`);
  }
  const position = v.safeParse(POSITION, parsed(text));
  if (!position.success || position.output.pipeline !== pipeline)
    throw new CommandFailed(
      `--position: ${file} is not the position of an audit of pipeline ${pipeline}`,
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
  pipeline: string,
  { sources, outputs }: AuditProgress,
): Promise<void> {
  const draft = `${file}.new`;
  const position = { pipeline, sources: [...sources], outputs: [...outputs] };
  try {
    await writeFile(draft, `${JSON.stringify(position)}\n`);
    await rename(draft, file);
  } catch (error) {
    throw new CommandFailed(`--position: ${(error as Error).message}`);
  }
}
