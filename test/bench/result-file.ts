/** Result files of the benchmark's service: the uploaded rows with the same columns behind each of them. */

/** End of each uploaded row: the connector's own column is the last one. */
const ROW_END = Buffer.from(']"\r\n');
const LINE_END = Buffer.from('\r\n');
const MORE_HEADERS = ',Status,Bench result,Labels';
const MORE_CELLS =
  ',SUCCESS,approved,"[{""name"":""spam"",""applied"":false,""explanation"":""Nothing in this text is an advertisement.""}]"';

/** The uploaded rows with more columns behind them. */
export function resultFile(upload: Buffer): Buffer {
  const head = upload.indexOf(LINE_END);
  const parts: Buffer[] = [upload.subarray(0, head), Buffer.from(`${MORE_HEADERS}\r\n`)];
  const more = Buffer.from(`${MORE_CELLS}\r\n`);
  for (let at = head + LINE_END.length; at < upload.length; ) {
    const end = upload.indexOf(ROW_END, at) + 2;
    parts.push(upload.subarray(at, end), more);
    at = end + LINE_END.length;
  }
  return Buffer.concat(parts);
}
