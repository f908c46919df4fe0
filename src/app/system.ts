/** The real time and the real chance. */
import { randomUUID } from 'node:crypto';
import type { Random } from '../base/clock.ts';

export { systemClock } from '../base/system-clock.ts';

export const systemRandom: Random = { next: Math.random, id: randomUUID };
