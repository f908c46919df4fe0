import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { BadOutput, openOutput } from '../../../src/cli/files/output.ts';
import type { Io } from '../../../src/cli/io.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DIRECTORY = temporaryDirectory();
const place = () => path.join(mkdtempSync(path.join(DIRECTORY, 'out-')), 'results.csv');
const never = (): never => assert.fail('not used');
const ioOf = (outIsTerminal: boolean, data: Io['data'] = never): Io => ({
  env: {},
  program: 'crc',
  outIsTerminal,
  errColumns: never,
  out: never,
  err: never,
  data,
});

describe('an output file', () => {
  it('has its name only when it is complete', async () => {
    const target = place();
    const output = await openOutput(ioOf(false), { target, force: false });
    await output.write(Buffer.from('one '));
    assert.deepEqual(
      readdirSync(path.dirname(target)).map((name) => /^\.results\.csv\.\w{8}\.part$/.test(name)),
      [true],
    );
    await output.write(Buffer.from('two'));
    await output.complete();
    await output.discard();
    assert.deepEqual([readdirSync(path.dirname(target)), readFileSync(target, 'utf8')], [['results.csv'], 'one two']);
  });

  it('that is not completed leaves nothing', async () => {
    const target = place();
    const output = await openOutput(ioOf(false), { target, force: false });
    await output.write(Buffer.from('half'));
    await output.discard();
    await output.discard();
    assert.deepEqual(readdirSync(path.dirname(target)), []);
  });

  it('never replaces what has come up meanwhile, unless told to', async () => {
    const target = place();
    const output = await openOutput(ioOf(false), { target, force: false });
    await output.write(Buffer.from('new'));
    writeFileSync(target, 'precious');
    await assert.rejects(output.complete(), BadOutput);
    await output.discard();
    assert.deepEqual([readdirSync(path.dirname(target)), readFileSync(target, 'utf8')], [['results.csv'], 'precious']);
    const forced = await openOutput(ioOf(false), { target, force: true });
    await forced.write(Buffer.from('new'));
    await forced.complete();
    assert.equal(readFileSync(target, 'utf8'), 'new');
  });

  it('that is a link stays one', async () => {
    const target = place();
    const link = path.join(path.dirname(target), 'link.csv');
    writeFileSync(target, 'old');
    symlinkSync(target, link);
    const output = await openOutput(ioOf(false), { target: link, force: true });
    await output.write(Buffer.from('new'));
    await output.complete();
    assert.deepEqual([readFileSync(target, 'utf8'), statSync(link).ino === statSync(target).ino], ['new', true]);
  });
});

describe('standard output', () => {
  const written = async (outIsTerminal: boolean, pieces: readonly Buffer[]) => {
    const seen: Buffer[] = [];
    const io = ioOf(outIsTerminal, async (bytes) => {
      seen.push(Buffer.from(bytes));
      return true;
    });
    const output = await openOutput(io, { target: '-', force: false });
    for (const piece of pieces) await output.write(piece);
    await output.complete();
    return Buffer.concat(seen).toString();
  };
  const text = 'Content\r\n"é\u001b[2J"\n';
  const pieces = [...Buffer.from(text)].map((byte) => Buffer.from([byte]));

  it('gets the bytes as they are', async () => assert.equal(await written(false, pieces), text));

  it('that is a terminal is shown nothing that moves its cursor', async () => {
    assert.equal(await written(true, [Buffer.from(text)]), 'Content\n"é\\u001b[2J"\n');
    assert.equal(await written(true, pieces), 'Content\\u000d\n"é\\u001b[2J"\n');
  });
});
