/** Process that decodes values at the heap limit of the chart and measures each. It handles requests from its parent in order. */
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { type CostlyFormat, costlyDecoders } from './costly-decoders.ts';

export interface MeasureRequest {
  readonly format: CostlyFormat;
  readonly value: Uint8Array;
}

export interface Measured {
  /** `item`, the reason of the dead letter, or the reason for skipping. */
  readonly outcome: string;
  /** Processor time of the thread, ms. Scaled to a typical machine if this machine is slow or busy. */
  readonly ms: number;
  /** Peak growth of the memory in use, including garbage, bytes. */
  readonly peakBytes: number;
  /** Memory reserved before the value is decoded, bytes. */
  readonly reservedBytes: number;
}

const decoders = await costlyDecoders();
const collect = globalThis.gc as () => void;

/** V8's heap statistics, including the memory of buffers. */
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
/** Processor time of the reference work on a typical machine, ms. */
const REFERENCE_MS = 15;

function timeOf(work: () => void): number {
  const started = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(started);
  return (user + system) / 1_000;
}

/** Returns the current slowness of the machine: at least 1, and 2 if it is half as fast as a typical machine. */
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
  // The heap size before a collection includes the garbage.
  const peaks = (profiler.stop()?.statistics ?? []).map((one) =>
    used(one.beforeGC.heapStatistics as HeapSizes),
  );
  const peakBytes = Math.max(usedNow(), ...peaks) - before;
  // Measures the slowness again, because the speed of a shared machine can change within a second.
  const ms = spentMs / Math.max(slowBefore, slowness());
  return { outcome, ms, peakBytes, reservedBytes };
}

// Warms up each format, so that no measurement includes the lazy loading of a module.
for (const format of Object.keys(decoders) as CostlyFormat[])
  measured({ format, value: Buffer.from('{}') });
process.on('message', (request: MeasureRequest) => process.send?.(measured(request)));
process.send?.('ready');
