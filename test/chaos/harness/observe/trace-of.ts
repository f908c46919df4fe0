import { lastHeader, type RecordHeaders } from '../../../../src/core/record.ts';

/** The header by which an event is known again in the source topic. */
export const traceOf = ({ headers }: { readonly headers: RecordHeaders }): string =>
  String(lastHeader(headers, 'trace'));
