import { lastHeader, type RecordHeaders } from '../../../../src/core/record.ts';

/** Returns the header that identifies an event in the source topic. */
export const traceOf = ({ headers }: { readonly headers: RecordHeaders }): string =>
  String(lastHeader(headers, 'trace'));
