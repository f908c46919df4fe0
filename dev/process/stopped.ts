/** Waits until a signal has stopped a process. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 5;

/**
 * Resolves when all threads of a process have stopped (SIGSTOP) or the process is gone. Before that,
 * a thread that has not handled the signal may serve requests. Resolves at once on a system without
 * `/proc`.
 */
export async function untilStopped(pid: number): Promise<void> {
  if (!existsSync('/proc/self/task')) return;
  while (threadStates(pid).some((state) => state !== 'T')) await sleep(INTERVAL_MS);
}

/** Returns the state of each thread in Linux's notation; an empty list if the process is gone. */
function threadStates(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) => stateOf(pid, thread));
  } catch {
    return [];
  }
}

function stateOf(pid: number, thread: string): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
    // The name in parentheses may contain anything, even parentheses.
    const state = stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
    return state === 'Z' || state === 'X' ? [] : [state];
  } catch {
    // The thread has ended since it was listed.
    return [];
  }
}
