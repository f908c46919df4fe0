/** W3C Trace Context in a record's headers, as the producer's tracing library wrote it. */
import type { TraceParent } from '../../packages/client/src/base/tracing.ts';
import { lastHeader, type RecordHeaders } from './record.ts';

/** Headers that are copied to a terminal record if `output.headers` lists them. */
export const TRACE_HEADERS = ['traceparent', 'tracestate'] as const;

/** Version 00 ends with the flags. Later versions may add fields (W3C Trace Context, 3.2.2 and 4.3). */
const TRACEPARENT =
  /^(?!ff)([\da-f]{2})-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(-.*)?$/s;
/** Maximum length of a traceparent to parse. */
const MAX_PARENT = 512;
/** Estimated memory of a context in bytes. */
const LINK_BYTES = 512;

/** Returns the last trace context, like libraries in other languages, or undefined if it is invalid. */
export function traceParentOf(headers: RecordHeaders): TraceParent | undefined {
  const last = lastHeader(headers, 'traceparent') ?? '';
  const found = last.length > MAX_PARENT ? null : TRACEPARENT.exec(String(last));
  if (found === null) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = found;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}

/** Distinct trace contexts of the items of a batch, up to a maximum number. */
export class TraceLinks {
  readonly #most: number;
  readonly #links = new Map<string, TraceParent>();

  /** @param most maximum number of contexts to keep */
  constructor(most: number) {
    this.#most = most;
  }

  get links(): TraceParent[] {
    return [...this.#links.values()];
  }

  /** Memory of the contexts that are kept, bytes. */
  get heldBytes(): number {
    return LINK_BYTES * this.#links.size;
  }

  /** Adds the context of an item, if it has one. */
  add(headers: RecordHeaders): void {
    if (this.#links.size >= this.#most) return;
    const parent = traceParentOf(headers);
    if (parent !== undefined) this.#links.set(`${parent.traceId}-${parent.spanId}`, parent);
  }
}
