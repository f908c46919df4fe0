import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** A new directory that is removed when the test, suite or file that asked for it has ended. Not for hooks: theirs ends with them. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'test-'));
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return directory;
}
