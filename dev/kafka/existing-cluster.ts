/** A cluster that runs elsewhere, named by KAFKA_BROKERS. */
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { keepDirectory } from '../process/kept.ts';
import { classArchive } from './class-archive.ts';
import { ensureJars } from './jars.ts';
import { findJava, runJava } from './java.ts';
import type { LocalKafka } from './local-kafka.ts';

export function existingCluster(list: string): LocalKafka {
  const brokers = list
    .split(',')
    .map((broker) => broker.trim())
    .filter((broker) => broker !== '');
  const malformed = brokers.find((broker) => !/^[^\s:]+:\d+$|^\[[^\]]+\]:\d+$/.test(broker));
  if (brokers.length === 0 || malformed !== undefined) {
    throw new Error(
      `KAFKA_BROKERS must be host:port, or several separated by commas; it is "${list}"`,
    );
  }
  let verification: Promise<string> | undefined;
  // Once for all tools: it reads 54 MB.
  const verified = () => {
    verification ??= ensureJars();
    return verification;
  };
  function notOurs(what: string): never {
    throw new Error(
      `cannot ${what} a broker of the existing cluster that KAFKA_BROKERS names: unset KAFKA_BROKERS to use a local one`,
    );
  }
  return {
    brokers,
    description: `the existing cluster ${brokers.join(',')} (KAFKA_BROKERS)`,
    dataDir: undefined,
    ended: new Promise(() => {}),
    stop: () => Promise.resolve(),
    kill: async () => notOurs('signal'),
    restart: async () => notOurs('restart'),
    pid: () => notOurs('tell the process id of'),
    async tool(className, args) {
      const found = await findJava();
      if ('missing' in found)
        throw new Error(`${className} needs Java 17 or later: ${found.missing}`);
      const jars = await verified();
      const temporary = await keepDirectory(path.join(tmpdir(), `kafka-tool-${randomUUID()}`));
      try {
        return await runJava(found.java, {
          className,
          args,
          jars,
          classArchive: classArchive(jars, found.version),
          temporary: temporary.path,
          maxHeapMiB: 128,
          logLevel: 'error',
        });
      } finally {
        await temporary.remove();
      }
    },
  };
}
