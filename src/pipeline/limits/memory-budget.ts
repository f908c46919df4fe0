/**
 * Byte budget of the whole process (I7): a semaphore of bytes with a single queue. Intake may use
 * 70 %; the rest is kept for settling and rereading, so that they can always finish.
 *
 * Each service has its own budget, and all budgets draw on the same bytes. The batches of a service
 * that does not respond stay in memory, so half of intake's memory is divided among the services,
 * and any service may use the other half. Settling and rereading of each service can always hold
 * one reservation. With a single service, its intake may use all of intake's memory.
 */

import { INTAKE_SHARE } from '../../core/batch-buffer.ts';
import { BufferPool } from '../../core/bytes/buffer-pool.ts';
import type { Lease } from '../../core/ports/memory.ts';
import type { KindSteps } from '../../core/ports/pipeline-kind.ts';
import type { SourceRecord } from '../../core/record.ts';
import { Conditions } from './conditions.ts';
import { Lane } from './lanes.ts';

// Limits of decoding, in intake and rereads.

/** Time after which decoding yields to the event loop. A single record may take 250 ms. */
export const DECODING_SLICE_MS = 100;

/** Maximum memory that decoding may use without a reservation. Records are decoded one at a time. */
export const FREE_BYTES: number = 4 * 1024 * 1024;

/** Returns the bytes to reserve before a record is decoded; 0 for most records. */
export function decodeCost({ decodeCost }: KindSteps, record: SourceRecord): number {
  const bytes = decodeCost?.(record) ?? 0;
  return bytes > FREE_BYTES ? bytes : 0;
}

/** Share of the budget for rereads: their records, and their bodies until they are uploaded. */
const REREAD_SHARE = 0.15;

/** Share of the budget for coordinates of deferred records. Above it, no backlog is read. */
const COORDINATES_SHARE = 0.2;

/** Share of the budget for the pool's idle buffers. */
const IDLE_SHARE = 1 / 8;
const MAX_IDLE_BYTES = 8 * 1024 * 1024;

/** Memory of an item in addition to its bytes: objects, and garbage until the next collection. */
const ITEM_OVERHEAD_BYTES = 768;

/** Returns the memory of items that are read again. @param bytes total size of the items */
export const memoryOfItems = (items: number, bytes: number): number =>
  bytes + items * ITEM_OVERHEAD_BYTES;

/**
 * Purpose of a lease.
 * - `intake`: new records and their batches, until the batches are uploaded;
 * - `work`: results that are being settled;
 * - `reread`: records that are read again and their batches, until the batches are uploaded.
 */
export type Share = 'intake' | 'work' | 'reread';

interface Reservation {
  readonly by: MemoryBudget;
  readonly share: Share;
  readonly bytes: number;
  readonly grant: () => void;
}

/** State that the budgets of all services share. */
interface Common {
  readonly budgets: MemoryBudget[];
  readonly line: Set<Reservation>;
  /** Waits for room in intake's memory. */
  readonly room: Conditions;
}

export class MemoryBudget {
  readonly totalBytes: number;
  /** Buffer pool of the process. Leases count the buffers in use; the budget counts the idle ones. */
  readonly pool: BufferPool;
  /** Lane that is charged with the coordinates of deferred records. */
  readonly coordinates = new Lane('coordinates', COORDINATES_SHARE, Infinity);
  readonly #common: Common;
  readonly #held: Record<Share, number> = { intake: 0, work: 0, reread: 0 };
  /** Leases of open batches, with the functions that seal the batches. */
  readonly #open = new Map<Lease, () => void>();

  /** @param other budget of another service, with which the bytes are shared */
  constructor(totalBytes: number, other?: MemoryBudget) {
    this.totalBytes = totalBytes;
    this.pool = other?.pool ?? new BufferPool(Math.min(totalBytes * IDLE_SHARE, MAX_IDLE_BYTES));
    this.#common = other ? other.#common : { budgets: [], line: new Set(), room: new Conditions() };
    this.#common.budgets.push(this);
  }

  /** Bytes of the leases of all services, without the pool's idle buffers. */
  get usedBytes(): number {
    return this.#sum(({ intake, work, reread }) => intake + work + reread);
  }

  /** True if the service has used up its part of intake's memory, and no other memory is free for it. */
  get intakeFull(): boolean {
    const { intake } = this.#held;
    return intake >= this.#ownIntake && intake + this.pool.idleBytes >= this.#intakeLimit;
  }

  /** True if intake would get a reservation at once: there is room, and no earlier reservation waits. */
  get mayTake(): boolean {
    const waiting = [...this.#common.line];
    return !this.intakeFull && !waiting.some(({ by, share }) => by === this && share === 'intake');
  }

  /** True if a lane may have another batch: it is within its share, or half of intake's memory is free. */
  hasRoomFor({ heldBytes, share }: Lane): boolean {
    const limit = this.#intakeLimit;
    const intakeBytes = this.#held.intake + this.pool.idleBytes;
    return heldBytes < share * limit || intakeBytes < limit / 2;
  }

  /** Waits until the lane may have another batch. @throws the signal's reason */
  async reserveFor(lane: Lane, bytes: number, signal: AbortSignal): Promise<Lease> {
    // Another batch may have taken the room before this continuation.
    while (!this.hasRoomFor(lane)) await this.roomFor(lane, signal);
    return this.lease('intake', bytes, undefined, lane);
  }

  /** Resolves when the lane may have another batch. @throws the signal's reason */
  async roomFor(lane: Lane, signal: AbortSignal): Promise<void> {
    await this.#common.room.until(() => this.hasRoomFor(lane), signal);
  }

  /** Maximum memory in bytes that a run of rereads should use. */
  get rereadBytes(): number {
    return this.totalBytes * REREAD_SHARE;
  }

  /**
   * Returns a lease of memory that is already in use or grows with its owner.
   * @param seal called if intake needs memory and this is the largest lease with a `seal`
   * @param lane lane to charge with the lease
   */
  lease(share: Share, bytes = 0, seal?: () => void, lane?: Lane): Lease {
    let held = 0;
    const lease: Lease = {
      get bytes() {
        return held;
      },
      resize: (wanted) => {
        // Rounds up, because releasing fractions would leave rounding errors.
        const change = Math.ceil(wanted) - held;
        held += change;
        this.#held[share] += change;
        if (lane !== undefined) lane.heldBytes += change;
        if (change < 0) this.#serve();
      },
      seal: () => this.#open.delete(lease),
      [Symbol.dispose]: () => {
        lease.seal();
        lease.resize(0);
      },
    };
    lease.resize(bytes);
    if (seal !== undefined) this.#open.set(lease, seal);
    return lease;
  }

  /**
   * Waits for room. Reservations of a share are granted in order, so that small ones do not starve
   * a large one:
   * - `intake` as long as its share is not full. The last reservation may exceed the share.
   * - `work` and `reread` as far as intake leaves room. To guarantee progress, a service that holds
   *   no `work` gets any size of it, and a service that holds neither gets any size of `reread`.
   * - `reread` only within its own share, because bodies pile up while the service is slow.
   * @throws the signal's reason
   */
  async reserve(share: Share, bytes: number, signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    const { line } = this.#common;
    const { promise, resolve, reject } = Promise.withResolvers<Lease>();
    const giveUp = () => {
      line.delete(reservation);
      reject(signal.reason);
      this.#serve();
    };
    const grant = () => {
      line.delete(reservation);
      signal.removeEventListener('abort', giveUp);
      resolve(this.lease(share, bytes));
    };
    const reservation = { by: this, share, bytes: Math.ceil(bytes), grant };
    signal.addEventListener('abort', giveUp, { once: true });
    line.add(reservation);
    this.#serve();
    return promise;
  }

  #serve(): void {
    const { budgets, line, room } = this.#common;
    const stuck = new Map(budgets.map((budget) => [budget, new Set<Share>()]));
    for (const { by, share, bytes, grant } of line) {
      const waiting = stuck.get(by) as Set<Share>;
      if (waiting.has(share)) continue;
      const { work, reread } = by.#held;
      const others = share === 'work' ? work : work + reread;
      if (share === 'intake' && by.intakeFull) waiting.add('intake');
      else if (share === 'reread' && reread > 0 && reread + bytes > this.rereadBytes)
        waiting.add('reread');
      else if (share !== 'intake' && others > 0 && bytes > this.#room)
        waiting.add('work').add('reread');
      else grant();
    }
    room.look();
    for (const [budget, waiting] of stuck) if (waiting.has('intake')) budget.#relieve();
  }

  /** Seals the largest batch to make room for intake, unless the sealed batches will free enough memory. */
  #relieve(): void {
    let open = 0;
    let largest: Lease | undefined;
    for (const lease of this.#open.keys()) {
      open += lease.bytes;
      if (lease.bytes > (largest?.bytes ?? 0)) largest = lease;
    }
    if (largest === undefined) return;
    if (this.#held.intake - open <= this.#intakeLimit / 2) this.#open.get(largest)?.();
  }

  #sum(of: (held: Readonly<Record<Share, number>>) => number): number {
    return this.#common.budgets.reduce((sum, budget) => sum + of(budget.#held), 0);
  }

  /** Part of intake's memory that no other service may use. */
  get #ownIntake(): number {
    return (this.totalBytes * INTAKE_SHARE) / 2 / this.#common.budgets.length;
  }

  /** Memory that intake of this service may use at the moment, including the pool's idle buffers. */
  get #intakeLimit(): number {
    const own = this.#ownIntake;
    const beyond = (intake: number) => Math.max(0, intake - own);
    const others = this.#sum(({ intake }) => beyond(intake)) - beyond(this.#held.intake);
    return own + Math.max(0, (this.totalBytes * INTAKE_SHARE) / 2 - others);
  }

  /** Room that is left for work and rereading. */
  get #room(): number {
    const intake = this.#sum((held) => held.intake) + this.pool.idleBytes;
    const used = this.#sum(({ work, reread }) => work + reread);
    return this.totalBytes - Math.min(intake, this.totalBytes * INTAKE_SHARE) - used;
  }
}
