/**
 * Preload (`node --import`) that shifts the wall clock of a process. Every 100 ms it reads the shift in ms from the
 * file named by STEPPED_CLOCK.
 */
import { readFileSync } from 'node:fs';

const READ_MS = 100;
const RealDate = Date;
let byMs = 0;

class SteppedDate extends RealDate {
  constructor(...given: [] | [number | string | Date]) {
    if (given.length === 0) super(SteppedDate.now());
    else super(...given);
  }

  static override now(): number {
    return RealDate.now() + byMs;
  }
}

globalThis.Date = SteppedDate as DateConstructor;
setInterval(() => {
  try {
    byMs = Number(readFileSync(process.env.STEPPED_CLOCK ?? '', 'utf8')) || 0;
  } catch {
    byMs = 0;
  }
}, READ_MS).unref();
