/**
 * Archive of the broker's classes (class data sharing), which halves the processor time of a start.
 * It is stored beside its jars and used only with the same Java; a JVM that cannot use it continues
 * without it. Creating it takes one start and end of a broker, so only callers that start many brokers do so.
 */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { ensureJars } from './jars.ts';
import { findJava } from './java.ts';
import { startJavaCluster } from './java-cluster.ts';

function archiveFile(jars: string, javaVersion: string): string {
  return `${jars}-${createHash('sha256').update(javaVersion).digest('hex').slice(0, 12)}.jsa`;
}

/** Returns the archive, if it exists. */
export function classArchive(jars: string, javaVersion: string): string | undefined {
  const file = archiveFile(jars, javaVersion);
  return existsSync(file) ? file : undefined;
}

/** Creates the archive if it is missing. @throws Error if Java or the jars are missing, or the broker does not start */
export async function makeClassArchive(signal?: AbortSignal): Promise<void> {
  const java = await findJava();
  if ('missing' in java) throw new Error(java.missing);
  const jars = await ensureJars(undefined, signal);
  const file = archiveFile(jars, java.version);
  if (existsSync(file)) return;
  const unfinished = `${file}.${randomUUID()}`;
  try {
    const cluster = await startJavaCluster(
      { java: java.java, jars, recordClasses: unfinished },
      signal === undefined ? {} : { signal },
    );
    try {
      // The JVM writes the archive during an orderly end.
      await cluster.kill(0, 'SIGTERM');
    } finally {
      await cluster.stop();
    }
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}
