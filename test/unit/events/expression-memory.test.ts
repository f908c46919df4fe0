/** Checks that expensive expressions do not exhaust a small heap. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const HEAP_MIB = 160;
const INPUT = new URL('./event-input.ts', import.meta.url).href;
const EVALUATE = `
  const { found, inputOf } = await import(${JSON.stringify(INPUT)});
  const [expression, json] = process.argv.slice(1);
  try {
    process.stdout.write(found(expression, inputOf(json.startsWith('{') ? json : eval(json))));
  } catch (error) {
    process.stdout.write(error.name + ': ' + error.message);
  }
`;

/** Evaluates an expression in a process with a small heap. @param json JSON text, or JavaScript that returns it */
function evaluated(expression: string, json: string): string {
  const heap = `--max-old-space-size=${HEAP_MIB}`;
  const child = spawnSync(
    process.execPath,
    [heap, '--input-type=module', '-e', EVALUATE, expression, json],
    { encoding: 'utf8' },
  );
  assert.equal(child.status, 0, `${expression}: ${child.signal} ${child.stderr.slice(0, 2_000)}`);
  return child.stdout;
}

const NUMBERS = 'JSON.stringify({ a: Array.from({ length: 200000 }, (_, n) => n % 10) })';
const BLANKS = "JSON.stringify({ text: ' '.repeat(16000000) })";
const HANS = "JSON.stringify({ text: '\u4e00'.repeat(4000000) })";

for (const [name, expression, json] of [
  ['a list of lists', `length([${Array.from({ length: 300 }, () => 'a').join(', ')}][])`, NUMBERS],
  ['the characters of a text', "length(split(text, ''))", HANS],
  ['the parts of a text', "length(split(text, ' '))", BLANKS],
  ['replaced blanks', "length(replace(text, ' ', '_'))", BLANKS],
] as const)
  test(`a result that would need too much memory is refused before it is created: ${name}`, () => {
    assert.match(
      evaluated(expression, json),
      /^EvaluationProblem: it (?:takes too long|has more than)/,
    );
  });
