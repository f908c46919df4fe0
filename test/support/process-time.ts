/** Processor time and memory of a running process, from the operating system: all threads, V8's helpers included. */
import { readFileSync } from 'node:fs';

/** User and system time in seconds; counted in ticks of 10 ms. */
export function cpuSecondsOf(pid: number): number {
  const [, user, system] =
    /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  return (Number(user) + Number(system)) / 100;
}

/** Resident memory, MiB: the most so far (VmHWM), or now (VmRSS). */
export function residentMiBOf(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
