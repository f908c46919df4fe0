/** Texts that repeat from event to event, such as content types: the last few are kept. */
import { textOfString } from '../../base/json/json-text.ts';
import type { ScannedValue } from '../../base/json/scanner.ts';

const KEPT_TEXTS = 16;
/** Longer ones hardly repeat. */
const MAX_BYTES = 64;

interface KeptText {
  readonly bytes: Buffer;
  readonly text: string;
}

export class LastTexts {
  readonly #texts: KeptText[] = [];
  #next = 0;

  /** Returns the text of a string. */
  textOf(found: ScannedValue): string {
    const { bytes, start, end } = found;
    if (found.hasEscapes || end - start > MAX_BYTES) return textOfString(found);
    for (let i = 0; i < this.#texts.length; i++) {
      const known = this.#texts[i] as KeptText;
      if (isAt(bytes, start, end, known.bytes)) return known.text;
    }
    const text = textOfString(found);
    this.#texts[this.#next++ % KEPT_TEXTS] = {
      bytes: Buffer.from(bytes.subarray(start, end)),
      text,
    };
    return text;
  }
}

function isAt(bytes: Buffer, start: number, end: number, known: Buffer): boolean {
  if (end - start !== known.length) return false;
  for (let i = 0; i < known.length; i++) if (bytes[start + i] !== known[i]) return false;
  return true;
}
