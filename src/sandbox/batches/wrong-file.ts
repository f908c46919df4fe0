/** Result files without a single usable row, as a `file` fault describes them. */
import type { FileFault } from '../faults/schema.ts';
import type { Draft } from '../storage/object-store.ts';

const PAGE =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head><body>Please try again later.</body></html>\n';
const PIECE = 64 * 1024;

/** @param header CSV text of the header that the file would have */
export async function writeWrongFile(
  draft: Draft,
  { as, bytes }: FileFault,
  header: string,
): Promise<void> {
  if (as === 'html') return draft.write(PAGE);
  await draft.write(header);
  if (as === 'header_only') return;
  for (let left = bytes; left > 0; left -= PIECE)
    await draft.write(','.repeat(Math.min(left, PIECE)));
  await draft.write('\n');
}
