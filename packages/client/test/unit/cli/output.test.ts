import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { temporaryDirectory } from '../../../../../test/support/temporary-directory.ts';
import type { Io } from '../../../src/cli/io.ts';
import {
  BadOutput,
  mustBeWritable,
  OutputFailed,
  type OutputPlace,
  openOutput,
  writing,
} from '../../../src/cli/output.ts';

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
  finish: never,
});

const opened = (at: OutputPlace) => openOutput(ioOf(false), at);

describe('an output file', () => {
  it('has its name only when it is complete', async () => {
    const target = place();
    const output = await opened({ target, force: false });
    await output.write(Buffer.from('one '));
    assert.deepEqual(
      readdirSync(path.dirname(target)).map((name) => /^\.results\.csv\.\w{8}\.part$/.test(name)),
      [true],
    );
    await output.write(Buffer.from('two'));
    await output.complete();
    await output.discard();
    assert.deepEqual(
      [readdirSync(path.dirname(target)), readFileSync(target, 'utf8')],
      [['results.csv'], 'one two'],
    );
  });

  it('that is not completed leaves nothing', async () => {
    const target = place();
    const output = await opened({ target, force: false });
    await output.write(Buffer.from('half'));
    await output.discard();
    await output.discard();
    assert.deepEqual(readdirSync(path.dirname(target)), []);
  });

  it('never replaces a file that has appeared meanwhile, unless --force is given', async () => {
    const target = place();
    const output = await opened({ target, force: false });
    await output.write(Buffer.from('new'));
    writeFileSync(target, 'precious');
    await assert.rejects(output.complete(), BadOutput);
    await output.discard();
    assert.deepEqual(
      [readdirSync(path.dirname(target)), readFileSync(target, 'utf8')],
      [['results.csv'], 'precious'],
    );
    const forced = await opened({ target, force: true });
    await forced.write(Buffer.from('new'));
    await forced.complete();
    assert.equal(readFileSync(target, 'utf8'), 'new');
  });

  it('that cannot be written is refused before anything else, with the reason', async () => {
    const there = place();
    writeFileSync(there, '');
    const refused = async (target: string, why: RegExp, source?: string) =>
      await assert.rejects(
        mustBeWritable({ target, force: true }, source),
        (error) => error instanceof BadOutput && why.test(error.message),
      );
    await refused('', /needs the name of a file/);
    await refused(`${there}/results.csv`, /not a directory/);
    await refused(path.join(path.dirname(there), 'x'.repeat(256)), /name too long/);
    await refused(path.dirname(there), /is a directory/);
    await refused('/dev/null', /is no regular file/);
    await refused(
      there,
      /is the file that is submitted/,
      path.join(path.dirname(there), '.', path.basename(there)),
    );
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

  it('receives the bytes unchanged', async () => assert.equal(await written(false, pieces), text));

  it('at a terminal receives no control characters', async () => {
    assert.equal(await written(true, [Buffer.from(text)]), 'Content\n"é\\u001b[2J"\n');
    assert.equal(await written(true, pieces), 'Content\\u000d\n"é\\u001b[2J"\n');
  });
});

it('a full disk is reported with the name of the file', async () => {
  const full = Object.assign(new Error('ENOSPC'), {
    errno: -constants.errno.ENOSPC,
    syscall: 'write',
  });
  await assert.rejects(
    writing('out.csv', Promise.reject(full)),
    (error) =>
      error instanceof OutputFailed &&
      error.message === 'out.csv cannot be written: no space left on device',
  );
});
