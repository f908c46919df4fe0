/** Entry of the thread that reads result files. It receives pieces of files and sends rows with terminal records. */
import { parentPort } from 'node:worker_threads';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import { crashOf } from '../../../core/outcome/internal-error.ts';
import { type ReadRows, ResultReader } from './result-reader.ts';
import type { FileProblem, ReadMessage, ToThread } from './result-thread.ts';

const port = parentPort;
if (port === null) throw new Error('this file is the entry of a worker thread');

const files = new Map<number, ResultReader>();

port.on('message', async (message: ToThread) => {
  const { is, file } = message;
  if (is === 'open') {
    files.set(file, new ResultReader(message.settings, message.facts));
    return;
  }
  const reader = files.get(file);
  if (reader === undefined) return;
  if (is === 'close') {
    reader.close();
    files.delete(file);
    return;
  }
  let read: ReadRows;
  if (is === 'piece') {
    read = await reader.read(Buffer.from(message.bytes), message.job);
    // Frees the memory at once. The garbage collector would keep it until its next full collection.
    message.bytes.transfer(0);
  } else read = await reader.end();
  const { rows } = read;
  const answer: ReadMessage = { ...read, file, problem: shown(read.problem) };
  port.postMessage(answer, rows ? [rows.numbers.buffer, rows.bytes] : []);
});

function shown(error: unknown): FileProblem | undefined {
  if (error === undefined) return undefined;
  if (!(error instanceof ServiceError)) return { crash: crashOf(error) };
  const { failure, message, operation } = error;
  return { failure, message, operation };
}
