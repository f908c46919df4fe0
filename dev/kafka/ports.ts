/** Free ports for servers that cannot be given port 0, because their address must be known before they start. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that operating systems hand out by themselves (from 32768 on Linux, 49152 elsewhere): nothing takes one of
 * these by chance between our look and the broker's bind, nor while a killed broker is down.
 */
const FIRST = 20_000;
const LAST = 32_000;

/** Different ports of 127.0.0.1 that were free a moment ago; a caller that binds one must be ready to choose again. */
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
