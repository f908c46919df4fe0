/**
 * The broker's classes as the JVM wants them in memory (class data sharing): with this file a broker starts in half the processor
 * time. It lies beside the jars that it was made from, and is only ever used with the same Java; a JVM that cannot use it goes
 * on without it. Making it takes a broker's start and end, so only those make it who will start many.
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

/** @returns the archive, if it exists. */
export function classArchive(jars: string, javaVersion: string): string | undefined {
  const file = archiveFile(jars, javaVersion);
  return existsSync(file) ? file : undefined;
}

/** Makes it, unless it is there. @throws Error when there is no Java or no jars, or the broker does not start. */
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
      // The JVM writes it in an orderly end.
      await cluster.kill(0, 'SIGTERM');
    } finally {
      await cluster.stop();
    }
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
}
