/** Independent implementation of RFC 4180, so that tests do not repeat mistakes of the code under test. */

/** Returns the records of a CSV document. Records end in CRLF or LF. */
export function readCsv(text: string): string[][] {
  const records: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const record: string[] = [];
    for (;;) {
      let cell = '';
      if (text[at] === '"') {
        for (;;) {
          const quote = text.indexOf('"', at + 1);
          if (quote === -1) throw new Error('a quote is not closed');
          cell += text.slice(at + 1, quote);
          at = quote + 1;
          if (text[at] !== '"') break;
          cell += '"';
        }
      } else {
        const start = at;
        while (
          at < text.length &&
          text[at] !== ',' &&
          text[at] !== '\n' &&
          !text.startsWith('\r\n', at)
        )
          at++;
        cell = text.slice(start, at);
      }
      record.push(cell);
      if (text[at] !== ',') break;
      at++;
    }
    records.push(record);
    if (at >= text.length) break;
    if (text.startsWith('\r\n', at)) at += 2;
    else if (text[at] === '\n') at += 1;
    else throw new Error('something follows a closing quote');
  }
  return records;
}

export interface CsvStyle {
  readonly recordEnd: '\r\n' | '\n';
  readonly quoteAll: boolean;
  readonly byteOrderMark: boolean;
  readonly lastRecordEnds: boolean;
}

export function writeCsv(records: readonly (readonly string[])[], style: CsvStyle): string {
  const cell = (text: string) =>
    style.quoteAll || /[",\r\n]/.test(text) ? `"${text.split('"').join('""')}"` : text;
  const lines = records.map((record) => record.map(cell).join(','));
  return (
    (style.byteOrderMark ? '\ufeff' : '') +
    lines.join(style.recordEnd) +
    (style.lastRecordEnds ? style.recordEnd : '')
  );
}
