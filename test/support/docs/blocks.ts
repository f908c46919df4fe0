/** Fenced blocks of a Markdown page. */

export interface Block {
  /** Line of the opening fence, from 1. */
  readonly line: number;
  /** Text after the fence; empty if there is none. */
  readonly language: string;
  /**
   * Words of the comment before the fence. Pages do not put them after the language, because Markdown processors
   * treat words there differently.
   */
  readonly words: readonly string[];
  /** Content without the indentation of the fence; empty, or ends with a line feed. */
  readonly text: string;
  /** True if only blank lines separate this block from the previous one. */
  readonly isDirectlyAfter: boolean;
}

const MARK = /^ *<!-- (.*) -->$/;
const OPENING = /^( *)(`{3,}|~{3,})([^\n]*)$/;

/** Returns the fenced blocks of a page in order. A fence that is never closed extends to the end. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  const lines = markdown.split(/\r?\n/);
  let isDirectlyAfter = false;
  for (let index = 0; index < lines.length; index++) {
    const [, indent = '', fence, info = ''] = OPENING.exec(lines[index] ?? '') ?? [];
    // The info string of a backtick fence cannot contain a backtick: that line is inline code.
    if (fence === undefined || (fence.startsWith('`') && info.includes('`'))) {
      if (lines[index]?.trim() !== '') isDirectlyAfter = false;
      continue;
    }
    const line = index + 1;
    const content: string[] = [];
    for (index++; index < lines.length && !closes(lines[index] ?? '', fence); index++)
      content.push(withoutIndent(lines[index] ?? '', indent.length));
    const words = MARK.exec(lines[line - 2] ?? '')?.[1]?.split(/\s+/) ?? [];
    const text = content.map((one) => `${one}\n`).join('');
    blocks.push({ line, language: info.trim(), words, text, isDirectlyAfter });
    isDirectlyAfter = true;
  }
  return blocks;
}

function closes(line: string, fence: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= fence.length && trimmed === (fence[0] ?? '').repeat(trimmed.length);
}

function withoutIndent(line: string, columns: number): string {
  const blanks = /^ */.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(blanks, columns));
}
