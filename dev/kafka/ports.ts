/** Free ports for servers that cannot use port 0, because their address must be known before they start. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Range below the ports that operating systems assign (from 32768 on Linux, 49152 elsewhere). No other
 * program gets such a port by chance before the broker binds it, or while a killed broker is down.
 */
const FIRST = 20_000;
const LAST = 32_000;

/** Returns different ports of 127.0.0.1 that were just free. Callers must choose again if a bind fails. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let attempt = 0; ports.size < count; attempt++) {
    if (attempt > 1_000) throw new Error(`no free ports between ${FIRST} and ${LAST} on 127.0.0.1`);
    const port = randomInt(FIRST, LAST);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
