/** Convention for the fenced blocks of pages. Tests use it to run the pages (docs/internals/adding.md). */
import { type Block, blocksOf } from './blocks.ts';

/** Part of a page that a test executes or reads. */
export type Step = { readonly line: number; readonly text: string } & (
  | { readonly kind: 'file'; readonly name: string }
  | { readonly kind: 'run'; readonly exit: number; readonly output: string | undefined }
  | { readonly kind: 'background'; readonly output: string | undefined }
  | { readonly kind: 'elsewhere' }
);

const FILE_NAME = /^[\w-][\w./-]*\.\w+$/;
/** Start of a line that is a command. A block with such a line must be marked `sh`, or no test runs it. */
const COMMAND =
  /^(?:\$ |(?:[A-Z_]+=\S* )*(?:npm|npx|node|content-review-connector|docker|kubectl|helm|kafka-[\w-]+(?:\.sh)?|kcat|curl|export|git|mvn|python3?|pip|psql|ssh|yq|jq|keytool|crc|prom) )/m;

/** @throws Error for a block whose marks are not part of the convention */
export function stepsOf(markdown: string): Step[] {
  const blocks = blocksOf(markdown);
  return blocks.flatMap((block, index): Step | [] => {
    const { line, language, words, text } = block;
    const [mark] = words;
    const next = blocks[index + 1];
    const output =
      next?.isDirectlyAfter && next.language === 'text' && next.words.length === 0
        ? next.text
        : undefined;
    if (language === 'sh') return { line, text, ...shellStep(block, output) };
    if (/\s/.test(language)) throw unknownMark(block);
    if (mark === undefined || language === 'text') return [];
    if (words.length > 1 || !FILE_NAME.test(mark) || mark.includes('..')) throw unknownMark(block);
    return { kind: 'file', name: mark, line, text };
  });
}

function shellStep(block: Block, output: string | undefined) {
  const [mark = 'exit=0', ...more] = block.words;
  const exit = /^exit=(\d{1,3})$/.exec(mark)?.[1];
  if (more.length === 0) {
    if (exit !== undefined) return { kind: 'run', exit: Number(exit), output } as const;
    if (mark === 'background') return { kind: mark, output } as const;
    if (mark === 'elsewhere') return { kind: mark } as const;
  }
  throw unknownMark(block);
}

const unknownMark = ({ line, language, words }: Block) =>
  new Error(
    `line ${line}: unknown mark "${language}" after <!-- ${words.join(' ')} -->: mark the block as sh, alone or after <!-- background -->, <!-- exit=N --> or <!-- elsewhere -->, or as another language, alone or after <!-- FILE -->`,
  );

/** Returns the line numbers of blocks that contain commands but are not marked `sh`. No test would run them. */
export function unmarkedCommands(markdown: string): number[] {
  return blocksOf(markdown)
    .filter(
      ({ language, text }) => /^(?:|text|bash|shell|console)$/.test(language) && COMMAND.test(text),
    )
    .map(({ line }) => line);
}
