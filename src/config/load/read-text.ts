import { createReadStream } from 'node:fs';
import { ConfigError } from './problem.ts';

const MAX_FILE_BYTES = 1024 * 1024;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user may not read it',
};

/** The text of a configuration file, or of a pipe; one that has no end is not read to it. @throws ConfigError */
export async function readText(path: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_FILE_BYTES)
        throw new Error(`a configuration has at most ${MAX_FILE_BYTES} bytes, and it has more`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(path, [
      { path: '(file)', message: `cannot be read: ${REASONS[code ?? ''] ?? message}` },
    ]);
  }
}
