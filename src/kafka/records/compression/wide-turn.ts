/**
 * Turns for decompressors whose window holds more than 32 MiB, one at a time in the process: a fetch may hold many such batches, and
 * each shard has a fetch. A holder whose reader does not come back gives its turn up to whoever waits, because that reader may itself
 * wait for memory that they hold.
 */

const PATIENCE_MS = 1_000;

interface Turn {
  readonly begin: () => void;
  readonly giveUp: () => void;
}

/** The first has the turn. */
const line: Turn[] = [];
let watching = false;

/**
 * Resolves, in the order of the calls, when the turn is free.
 * @param giveUp called from time to time while others wait: ends the turn if nothing was unpacked since the last call
 * @returns the function that ends the turn; repeatable
 */
export function takeWideTurn(giveUp: () => void): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const turn = { begin: () => resolve(() => end(turn)), giveUp };
  line.push(turn);
  if (line.length === 1) turn.begin();
  else watch();
  return promise;
}

function end(turn: Turn): void {
  if (line[0] !== turn) return;
  line.shift();
  line[0]?.begin();
}

function watch(): void {
  if (watching) return;
  watching = true;
  setTimeout(() => {
    watching = false;
    line[0]?.giveUp();
    if (line.length > 1) watch();
  }, PATIENCE_MS);
}
