import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/**
 * Creates a directory that is removed at the end of the calling test, suite or file. Not for hooks, which would
 * remove it when they end.
 */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'test-'));
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return directory;
}
