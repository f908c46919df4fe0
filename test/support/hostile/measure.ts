/**
 * Process that decodes values at the heap limit of the chart and measures each: it reads requests
 * from its parent and answers them in order.
 */
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { type CostlyFormat, costlyDecoders } from './costly-decoders.ts';

export interface MeasureRequest {
  readonly format: CostlyFormat;
  readonly value: Uint8Array;
}

export interface Measured {
  /** Item, or reason of the dead letter. */
  readonly outcome: string;
  /** Processor time of the thread, ms; of a slow or busy machine as much as a usual one would take. */
  readonly ms: number;
  /** Growth of the memory in use, with garbage, at its peak, bytes. */
  readonly peakBytes: number;
  /** Memory that is reserved before the value is decoded, bytes. */
  readonly reservedBytes: number;
}

const decoders = await costlyDecoders();
const collect = globalThis.gc as () => void;

/** Statistics of V8's heap, with the memory of buffers. */
interface HeapSizes {
  readonly usedHeapSize: number;
  readonly externalMemory: number;
}

const used = ({ usedHeapSize, externalMemory }: HeapSizes) => usedHeapSize + externalMemory;
const usedNow = () => {
  const { used_heap_size: usedHeapSize, external_memory: externalMemory } = getHeapStatistics();
  return used({ usedHeapSize, externalMemory });
};

const REFERENCE = JSON.stringify(
  Array.from({ length: 20_000 }, (_, at) => ({ [`key ${at}`]: at })),
);
/** Processor time of the reference work on a usual machine, ms. */
const REFERENCE_MS = 15;

function timeOf(work: () => void): number {
  const started = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(started);
  return (user + system) / 1_000;
}

/** Returns the slowness of the machine at the moment: 2 for half the speed of a usual one; at least 1. */
function slowness(): number {
  const times = Array.from({ length: 3 }, () => timeOf(() => JSON.parse(REFERENCE)));
  return Math.max(1, Math.min(...times) / REFERENCE_MS);
}

function measured({ format, value }: MeasureRequest): Measured {
  const { decode, reserved } = decoders[format];
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const reservedBytes = reserved(bytes);
  const slowBefore = slowness();
  collect();
  const before = usedNow();
  const profiler = new GCProfiler();
  profiler.start();
  let outcome = '';
  const spentMs = timeOf(() => {
    outcome = decode(bytes);
  });
  // What is in use when a collection begins includes what it is going to free.
  const peaks = (profiler.stop()?.statistics ?? []).map((one) =>
    used(one.beforeGC.heapStatistics as HeapSizes),
  );
  const peakBytes = Math.max(usedNow(), ...peaks) - before;
  // The speed of a shared machine changes within a second.
  const ms = spentMs / Math.max(slowBefore, slowness());
  return { outcome, ms, peakBytes, reservedBytes };
}

// Once each, so that a measurement does not include a module that is loaded at first use.
for (const format of Object.keys(decoders) as CostlyFormat[])
  measured({ format, value: Buffer.from('{}') });
process.on('message', (request: MeasureRequest) => process.send?.(measured(request)));
process.send?.('ready');
