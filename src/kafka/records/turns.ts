/**
 * Queue for readers of pieces: the process reads one piece per turn of the event loop. With one
 * piece of each shard per turn, answers on sockets would wait for all of them.
 */
const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop: one caller per turn, in FIFO order. */
export function nextPieceTurn(): Promise<void> {
  if (waiting.length === 0) setImmediate(letOneGo);
  return new Promise((resolve) => waiting.push(resolve));
}

function letOneGo(): void {
  waiting[0]?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(letOneGo);
}
