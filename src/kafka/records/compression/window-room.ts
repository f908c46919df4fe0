/**
 * Room for decompressors and their windows, 64 MiB for the process: each shard has a fetch, and each fetch may hold batches whose
 * windows fill. A window larger than the room takes all of it. A holder whose reader does not come back gives its room up to those
 * who wait, because that reader may itself wait for memory that they hold.
 */

const ROOM_BYTES = 64 * 1024 * 1024;
/** Memory of a decompressor beside its window, bytes. */
const DECOMPRESSOR_BYTES = 1024 * 1024;
const PATIENCE_MS = 1_000;

interface Place {
  readonly bytes: number;
  readonly enter: () => void;
  readonly giveUp: () => void;
}

let free = ROOM_BYTES;
const holders = new Set<Place>();
const line: Place[] = [];
let watching = false;

/**
 * Resolves, in the order of the calls, when there is room.
 * @param giveUp called from time to time while others wait: gives the room back if nothing was unpacked since the last call
 * @returns the function that gives it back; repeatable
 */
export function takeRoom(windowBytes: number, giveUp: () => void): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const bytes = Math.min(windowBytes + DECOMPRESSOR_BYTES, ROOM_BYTES);
  const place: Place = { bytes, enter: () => resolve(() => leave(place)), giveUp };
  line.push(place);
  letIn();
  if (line.length > 0) watch();
  return promise;
}

function leave(place: Place): void {
  if (!holders.delete(place)) return;
  free += place.bytes;
  letIn();
}

function letIn(): void {
  for (let next = line[0]; next !== undefined && next.bytes <= free; next = line[0]) {
    line.shift();
    holders.add(next);
    free -= next.bytes;
    next.enter();
  }
}

function watch(): void {
  if (watching) return;
  watching = true;
  setTimeout(() => {
    watching = false;
    if (line.length === 0) return;
    for (const { giveUp } of [...holders]) giveUp();
    if (line.length > 0) watch();
  }, PATIENCE_MS);
}
