import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { CommandFailed } from '../../../src/cli/exit-codes.ts';
import type { Io } from '../../../src/cli/io.ts';
import { standardOutput, writing } from '../../../src/cli/output.ts';

describe('standard output', () => {
  const written = async (outIsTerminal: boolean, pieces: readonly Buffer[]) => {
    const seen: Buffer[] = [];
    const data = async (bytes: Uint8Array) => seen.push(Buffer.from(bytes)) > 0;
    const write = standardOutput({ outIsTerminal, data } as Io);
    for (const piece of pieces) await write(piece);
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

it('a full disk is reported with the name of the target', async () => {
  const full = Object.assign(new Error('ENOSPC'), {
    errno: -constants.errno.ENOSPC,
    syscall: 'write',
  });
  await assert.rejects(
    writing('out.csv', Promise.reject(full)),
    (error) =>
      error instanceof CommandFailed &&
      error.message === 'out.csv cannot be written: no space left on device',
  );
});
