/**
 * Turns of the event loop for those who read pieces: one piece a turn, whoever reads it. With one piece of each shard a turn, what
 * comes over sockets meanwhile (answers of brokers and of the service) would wait for all of them.
 */
const waiting: (() => void)[] = [];

/** Resolves in a later turn of the event loop: one caller a turn, in the order of asking. */
export function nextPieceTurn(): Promise<void> {
  if (waiting.length === 0) setImmediate(letOneGo);
  return new Promise((resolve) => waiting.push(resolve));
}

function letOneGo(): void {
  waiting[0]?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(letOneGo);
}
