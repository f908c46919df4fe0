/** W3C Trace Context in the headers of records, as the producer's tracing library wrote it. */
import { lastHeader, type RecordHeaders } from './record.ts';

/** Headers that are copied from a source record to its terminal record (`output.traceHeaders`). */
export const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;

/** A span of another process. */
export interface TraceParent {
  /** 32 and 16 hexadecimal digits, lower case, not all 0. */
  readonly traceId: string;
  readonly spanId: string;
  /** One byte; 1 is sampled. */
  readonly flags: number;
  /** Unchecked. */
  readonly state?: string | undefined;
}

/** Version 00 ends with the flags; later ones may go on after a dash (W3C Trace Context, 3.2.2 and 4.3). */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/s;
/**
 * Longest traceparent that is parsed, and longest tracestate that a link has: 32 entries take at
 * least 512.
 */
const MAX_PARENT = 512;
const MAX_STATE = 1024;
/** Memory of a context beside its state, bytes. */
const LINK_BYTES = 512;

/** Returns undefined without a valid context. */
export function traceParentOf(headers: RecordHeaders): TraceParent | undefined {
  const text = lastText(headers, 'traceparent', MAX_PARENT);
  const found = text === undefined ? null : TRACEPARENT.exec(text);
  if (found === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = found;
  if (version === '00' && more !== undefined) return undefined;
  const state = lastText(headers, 'tracestate', MAX_STATE);
  return {
    traceId,
    spanId,
    flags: Number.parseInt(flags, 16),
    ...(state === undefined ? {} : { state }),
  };
}

/** Headers of a request that continues the trace of a span. */
export function traceHeadersOf({ traceId, spanId, flags, state }: TraceParent) {
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
  // A header takes no other characters, whatever tracing library wrote them.
  const isState = state !== undefined && /^[\x21-\x7e][\x20-\x7e]*$/.test(state);
  return isState ? { traceparent, tracestate: state } : { traceparent };
}

/** Contexts of a batch's items: a bounded number of spans, each once. */
export class TraceLinks {
  readonly #most: number;
  readonly #links = new Map<string, TraceParent>();
  #traced = 0;
  #unlinked = 0;
  #heldBytes = 0;

  /** @param most spans that are kept */
  constructor(most: number) {
    this.#most = most;
  }

  get links(): TraceParent[] {
    return [...this.#links.values()];
  }

  /** Memory of the contexts that are kept, bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Items that came with a valid context. */
  get traced(): number {
    return this.#traced;
  }

  /** Items with a context whose span is not among the links. */
  get unlinked(): number {
    return this.#unlinked;
  }

  /** Adds the context of an item, if it has one. */
  add(headers: RecordHeaders): void {
    const parent = traceParentOf(headers);
    if (parent === undefined) return;
    this.#traced++;
    const key = `${parent.traceId}-${parent.spanId}`;
    if (this.#links.has(key)) return;
    if (this.#links.size >= this.#most) {
      this.#unlinked++;
      return;
    }
    this.#links.set(key, parent);
    this.#heldBytes += LINK_BYTES + 2 * (parent.state?.length ?? 0);
  }
}

/** Returns the last of several values, as tracing libraries of other languages do. */
function lastText(headers: RecordHeaders, name: string, maxLength: number): string | undefined {
  const last = lastHeader(headers, name) ?? undefined;
  return last === undefined || last.length > maxLength ? undefined : String(last);
}
