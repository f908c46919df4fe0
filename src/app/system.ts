/** The real time and the real chance. */
import { randomUUID } from 'node:crypto';
import type { Random } from '../core/ports/clock.ts';

export { systemClock } from '../service/system-clock.ts';

export const systemRandom: Random = { next: Math.random, id: randomUUID };
