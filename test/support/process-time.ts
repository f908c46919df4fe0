/** Processor time and memory of a running process, from the operating system. Includes all threads, also V8's. */
import { readFileSync } from 'node:fs';

/** User and system time in seconds, with a resolution of 10 ms. */
export function cpuSecondsOf(pid: number): number {
  const [, user, system] =
    /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
  return (Number(user) + Number(system)) / 100;
}

/** Resident memory in MiB: its peak (VmHWM) or current value (VmRSS). */
export function residentMiBOf(pid: number, field: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

export const median = (numbers: readonly number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
