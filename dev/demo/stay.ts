/** Interactive part of the demo: e-mails keep coming, and keys break its parts. */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../packages/client/src/base/abortable.ts';
import { Breaker } from './breaker.ts';
import { nextEvents } from './events.ts';
import type { PartContext } from './parts.ts';
import type { Running } from './running.ts';
import type { Screen } from './screen.ts';

const TICK_MS = 250;
/** Number of e-mails per tick: 20 per second. */
const PER_TICK = 5;
/** Maximum number of records queued by pressed keys in one send: less than 1 MB. */
const PER_SEND = 500;
/** Maximum wait for the last terminal records: a member cut off by a frozen broker may join late. */
const DRAIN_MS = 120_000;
const CTRL_C = '\u0003';

/** Keeps all parts running until Ctrl-C. Then repairs broken parts and waits for the last records. */
export async function stay(
  running: Running,
  context: PartContext,
  cleanup: AsyncDisposableStack,
  screen: Screen,
  onInterrupt: (handler: () => void) => void,
): Promise<void> {
  const { ledger, reader, connector } = running;
  const { over } = context;
  const finish = new AbortController();
  onInterrupt(() => finish.abort());
  const ended = AbortSignal.any([finish.signal, over]);
  screen.print(`${screen.paint('bold', '  E-mails keep coming. Break something:')} press
    s  to freeze the service, and again to thaw it     b  to freeze the broker, and again to thaw it
    k  to kill the connector                           p  to write records that cannot be submitted
    a  to write an archive, which e-mails pass
  and see the console ${connector.url}/, the logs in ${context.directory}. Ctrl-C ends.
`);
  const breaker = new Breaker(running, screen, over);
  const closeKeys = listenToKeys((key) => breaker.press(key));
  cleanup.defer(async () => closeKeys());
  const stopped = new AbortController();
  const sending = send(running, breaker, AbortSignal.any([stopped.signal, over]));
  sending.catch((cause: unknown) => context.failed(new Error('The producer failed', { cause })));
  const allBack = new AbortController();
  const reading = reader.follow(AbortSignal.any([allBack.signal, over]));
  cleanup.defer(async () => allBack.abort());

  const tick = async (signal: AbortSignal) => {
    breaker.tick();
    screen.draw(`  ${ledger.counts}  ${breaker.states}`);
    await sleep(TICK_MS, undefined, { signal }).catch(() => undefined);
    over.throwIfAborted();
  };
  while (!ended.aborted) await tick(ended);

  closeKeys();
  breaker.say('ending: waiting for the last e-mails; Ctrl-C again ends at once');
  await abortable(breaker.repair(), over);
  stopped.abort();
  await abortable(sending, over);
  const deadline = AbortSignal.timeout(DRAIN_MS);
  while (ledger.waiting > 0 && !deadline.aborted) await tick(over);
  allBack.abort();
  await abortable(reading, over);
  screen.draw('');
}

/** Sends e-mails, and records queued by pressed keys, until the signal. @throws Error if the broker rejects them */
async function send(
  { producer, emails }: Running,
  breaker: Breaker,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const extra = breaker.takeExtra(PER_SEND);
    await producer.send([...extra, ...(await nextEvents(emails, PER_TICK))]);
    if (extra.length > 0 && !breaker.hasExtra) breaker.recovering('the records were written');
    // An archive is sent as fast as possible.
    if (!breaker.hasExtra) await sleep(TICK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Listens to single keys on a terminal, otherwise to the letters of lines on standard input.
 * @returns a function that stops listening and restores the terminal
 */
function listenToKeys(onKey: (key: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) {
    const lines = createInterface({ input: stdin });
    lines.on('line', (line) => [...line.trim()].forEach(onKey));
    return () => lines.close();
  }
  const take = (bytes: Buffer) => {
    // A terminal in raw mode sends the key instead of the signal.
    for (const key of bytes.toString())
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT');
      else onKey(key);
  };
  stdin.setRawMode(true).on('data', take);
  return () => {
    stdin.setRawMode(false).off('data', take).pause();
  };
}
