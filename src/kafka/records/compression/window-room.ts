/**
 * Room for decompressors and their windows, 64 MiB for the process: each shard has a fetch, and each
 * fetch may have batches with large windows. A window larger than the room takes all of it. An idle
 * decompressor gives its room up while others wait, because its reader may itself wait for memory
 * that they have.
 */

const ROOM_BYTES = 64 * 1024 * 1024;
/** Memory of a decompressor beside its window, bytes. */
const DECOMPRESSOR_BYTES = 1024 * 1024;
const PATIENCE_MS = 1_000;

interface RoomTaken {
  readonly bytes: number;
  readonly enter: () => void;
  readonly giveUp: () => void;
}

let free = ROOM_BYTES;
const holders = new Set<RoomTaken>();
const line: RoomTaken[] = [];
let watching = false;

/**
 * Resolves, in the order of the calls, when there is room.
 * @param giveUp called every second while others wait: returns the room if nothing was unpacked since the last call
 * @returns the function that returns it; repeatable
 */
export function takeRoom(windowBytes: number, giveUp: () => void): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<() => void>();
  const bytes = Math.min(windowBytes + DECOMPRESSOR_BYTES, ROOM_BYTES);
  const place: RoomTaken = { bytes, enter: () => resolve(() => leave(place)), giveUp };
  line.push(place);
  letIn();
  if (line.length > 0) watch();
  return promise;
}

function leave(place: RoomTaken): void {
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
