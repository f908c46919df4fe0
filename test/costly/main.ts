/**
 * Searches for values of records that cost a decoder more than its bounds.
 *
 *   npm run costly -- [--minutes N] [--seed S] [--bytes N]
 */
import { parseArgs } from 'node:util';
import { describe, search } from './search.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    bytes: { type: 'string', default: String(4 * 1024 * 1024) },
  },
});
const seed = Number(values.seed);
const seconds = 60 * Number(values.minutes);
const { measured, worst, exceeded } = await search({
  seconds,
  seed,
  maxBytes: Number(values.bytes),
});
process.stdout.write(`${measured} values measured with seed ${seed}\n`);
for (const { time, memory } of Object.values(worst))
  process.stdout.write(`  slowest  ${describe(time)}\n  largest  ${describe(memory)}\n`);
for (const one of exceeded) process.stdout.write(`EXCEEDED ${one}\n`);
process.exitCode = exceeded.length === 0 ? 0 : 1;
