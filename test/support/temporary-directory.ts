import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after } from 'node:test';

/** Creates a directory that is removed after the calling test, suite or file. In a hook it would be removed at the hook's end. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), 'test-'));
  after(() => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return directory;
}
