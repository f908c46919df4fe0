/** Apicurio Registry, fetched by Maven once (142 MB) into the cache of Kafka's jars, and verified before unpacking. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ensureCached, jarCache, runToEnd } from '../kafka/jars.ts';

const VERSION = '2.6.13.Final';
const ARCHIVE_SHA256 = '3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba';
const ARCHIVE = `apicurio-registry-app-${VERSION}-all.tar.gz`;
const PLUGIN = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy';

/** Returns the jar to run. @throws JarsUnavailable if it is not in the cache and Maven is missing */
export async function ensureRegistry(
  onProgress: (message: string) => void = () => undefined,
): Promise<string> {
  const name = `apicurio-${VERSION}-${ARCHIVE_SHA256.slice(0, 12)}`;
  const cache = path.join(path.dirname(await jarCache()), name);
  await ensureCached(cache, async (directory, mvn) => {
    onProgress(`fetching Apicurio Registry ${VERSION} with Maven (142 MB, once)`);
    const artifact = `io.apicurio:apicurio-registry-app:${VERSION}:tar.gz:all`;
    const flags = [`-Dartifact=${artifact}`, `-DoutputDirectory=${directory}`];
    await runToEnd(mvn, ['--batch-mode', PLUGIN, ...flags], directory);
    const archive = path.join(directory, ARCHIVE);
    const hash = createHash('sha256');
    await pipeline(createReadStream(archive), hash);
    const found = hash.digest('hex');
    if (found !== ARCHIVE_SHA256)
      throw new Error(`${ARCHIVE} has the checksum ${found}, not ${ARCHIVE_SHA256}`);
    await runToEnd('tar', ['-xzf', archive], directory);
    await rm(archive);
  });
  return path.join(cache, `apicurio-registry-app-${VERSION}-runner.jar`);
}
