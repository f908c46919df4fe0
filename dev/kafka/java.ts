/** Finds Java and Maven, and starts programs from Kafka's jars. */
import path from 'node:path';
import { execute } from '../helm/execute.ts';

/** Oldest Java version that Kafka 4's broker supports. */
const OLDEST_JAVA = 17;

export interface Missing {
  /** Reason why the program cannot be used, for the message that lists all alternatives. */
  readonly missing: string;
}

/** Finds `java` in JAVA_HOME, then on the PATH. `version` is its output. */
export async function findJava(): Promise<
  { readonly java: string; readonly version: string } | Missing
> {
  const home = process.env.JAVA_HOME;
  const candidates = [
    ...(home === undefined || home === '' ? [] : [path.join(home, 'bin', 'java')]),
    'java',
  ];
  let missing = 'java was not found';
  for (const java of candidates) {
    try {
      // `java -version` prints to standard error: openjdk version "17.0.15" 2025-04-15
      const { stderr } = await execute(java, ['-version']);
      const version = /version "(?:1\.)?(\d+)/.exec(stderr)?.[1];
      if (Number(version) >= OLDEST_JAVA) return { java, version: stderr };
      missing = `${java} is version ${version ?? 'unknown'}`;
    } catch {
      // This candidate is missing or not executable, so the loop tries the next candidate.
    }
  }
  return { missing };
}

/** Finds `mvn` on the PATH. Does not run it, which would take almost a second. */
export async function findMaven(): Promise<{ readonly mvn: string } | Missing> {
  const found = await execute('sh', ['-c', 'command -v mvn']).catch(() => undefined);
  return found === undefined ? { missing: 'mvn was not found' } : { mvn: found.stdout.trim() };
}

export interface JavaProgram {
  readonly className: string;
  readonly args: readonly string[];
  /** Directory with Kafka's jars. */
  readonly jars: string;
  /** Directory for unpacked native libraries, which a killed JVM leaves behind. */
  readonly temporary: string;
  readonly maxHeapMiB: number;
  readonly logLevel: 'warn' | 'error';
  /** Class archives (class-archive.ts) to use, and to write at the end. */
  readonly classArchive?: string | undefined;
  readonly recordClasses?: string | undefined;
}

/** Returns arguments of `java` for a program that starts fast and writes only to its own directory. */
export function javaArguments(program: JavaProgram): string[] {
  const { className, args, jars, temporary, maxHeapMiB, logLevel, classArchive, recordClasses } =
    program;
  // Suppresses warnings of the JVM about an unusable archive, which would be part of the program's
  // output.
  const use =
    classArchive === undefined ? [] : [`-XX:SharedArchiveFile=${classArchive}`, '-Xlog:disable'];
  return [
    `-Xmx${maxHeapMiB}m`,
    '-XX:TieredStopAtLevel=1',
    // Threads of the default collector take a fifth of the startup time, and a small heap does not
    // need them.
    '-XX:+UseSerialGC',
    ...(recordClasses === undefined
      ? use
      : [`-XX:ArchiveClassesAtExit=${recordClasses}`, '-Xlog:disable']),
    // Prevents a file in /tmp/hsperfdata_<user>, which a killed JVM would leave behind.
    '-XX:-UsePerfData',
    `-Djava.io.tmpdir=${temporary}`,
    '-Djava.awt.headless=true',
    `-Dorg.slf4j.simpleLogger.defaultLogLevel=${logLevel}`,
    '-Dorg.slf4j.simpleLogger.showDateTime=true',
    '-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS',
    '-cp',
    path.join(jars, '*'),
    className,
    ...args,
  ];
}

/** Runs a program to its end. @returns its standard output. @throws Error with its complete output if it fails */
export async function runJava(
  java: string,
  program: JavaProgram,
  signal?: AbortSignal,
): Promise<string> {
  const options = signal === undefined ? {} : { signal, killSignal: 'SIGKILL' as const };
  return (await execute(java, javaArguments(program), options)).stdout;
}
