/** Runs the examples of docs/mapping.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { trySample } from '../../../src/app/tools/sample.ts';
import { parseConfig } from '../../../src/config/load.ts';

const PAGE = readFileSync(new URL('../../../docs/mapping.md', import.meta.url), 'utf8');

interface Example {
  readonly heading: string;
  readonly yaml: string;
  readonly properties: string;
  readonly json: string;
  readonly text: string;
}

/** Returns the examples: each consists of the blocks up to the next `text` block. */
function examples(): Example[] {
  const found: Example[] = [];
  let heading = '';
  let blocks = { yaml: '', properties: '', json: '' };
  for (const [, title, language, body = ''] of PAGE.matchAll(
    /^#+ (.+)$|^```(\w*)[^\n]*\n((?:.*\n)*?)```$/gm,
  )) {
    if (title !== undefined) heading = title;
    else if (language === 'text') {
      found.push({ heading, ...blocks, text: body });
      blocks = { yaml: '', properties: '', json: '' };
    } else if (language !== '') blocks = { ...blocks, [language ?? '']: body };
  }
  return found;
}

function pipelineOf(yaml: string) {
  const indented = (yaml === '' ? 'source:\n' : yaml).replace(/^(?=.)/gm, '    ');
  const text = `
kafka: {brokers: "b:1"}
service: {baseUrl: "https://review.example", apiKey: k}
pipelines:
  - name: docs
${indented.replace(/^ {4}source:\n(?! {6}topic)/m, '    source:\n      topic: events\n')}`;
  return (
    parseConfig(text, {}, { file: 'docs/mapping.md', directory: '/nowhere' }).pipelines[0] ??
    assert.fail()
  );
}

async function outcomeOf({ yaml, properties, json }: Example): Promise<string> {
  const [, key] = /^key=(.*)$/m.exec(properties) ?? [];
  const headers = [...properties.matchAll(/^header=([^=]+)=(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, Buffer.from(value)] as const,
  );
  const pipeline = pipelineOf(yaml);
  const { result } = await trySample(pipeline, { value: Buffer.from(json), key, headers });
  if (result.outcome === 'skipped') return `skipped: ${result.reason}\n`;
  if (result.outcome === 'dead_letter') return `dead letter: ${result.reason}\n${result.message}\n`;
  const { type, outputKey } = result.item;
  const keyed = outputKey === undefined ? '' : `, published with key ${outputKey}`;
  const verdict = {
    review: `reviewed as ${type}${keyed}`,
    import: 'imported',
    lookup: 'looked up',
  }[pipeline.kind];
  const upload = result.upload
    .replace(/"[\w-]+"\r\n$/, '…')
    .replaceAll('\r\n', '\n')
    .trimEnd();
  return `${verdict}\n${upload}\n`;
}

for (const [index, example] of examples().entries()) {
  test(`docs/mapping.md: example ${index + 1}, ${example.heading}`, async () => {
    assert.equal(await outcomeOf(example), example.text);
  });
}
