/** Starts all parts, sends e-mails and poison, and checks the decisions and dead letters. */
import { setTimeout as sleep } from 'node:timers/promises';
import { abortable } from '../../packages/client/src/base/abortable.ts';
import { grouped } from '../../packages/client/src/cli/text.ts';
import { ROUND } from './corpus.ts';
import { nextEvents, POISON } from './events.ts';
import type { PartContext } from './parts.ts';
import { GRACE_MS, type Running, start } from './running.ts';
import type { Screen } from './screen.ts';
import { stay } from './stay.ts';

const TICK_MS = 150;
/** About 300 KB per send, which is also the size of the largest e-mail. */
const PER_SEND = 50;
/** Pause between sends, long enough to watch the counts grow. */
const PAUSE_MS = 75;
/** Time without any change of a count after which the demo counts as stalled. */
const STALLED_MS = 20_000;
/**
 * Runs the demo.
 * @param prefix prefix of all topics and groups
 * @param cleanup stops everything that was started, in reverse order
 * @param onInterrupt keeps e-mails coming until the handler passed to it is called
 * @returns problems, one sentence each
 * @throws the cause of an early end
 */
export async function runDemo(
  prefix: string,
  context: PartContext,
  cleanup: AsyncDisposableStack,
  screen: Screen,
  onInterrupt?: (handler: () => void) => void,
): Promise<readonly string[]> {
  const { over } = context;
  const running = await start(prefix, context, cleanup, screen);
  const { connector, ledger, reader } = running;
  screen.print(
    `\n  sending ${grouped(ROUND)} real e-mails, and ${POISON.length} records that cannot be submitted\n`,
  );
  const sending = sendRound(running, over);
  sending.catch((cause: unknown) => context.failed(new Error('The producer failed', { cause })));
  const problems = await watch(running, sending, over, screen);
  if (onInterrupt !== undefined) {
    problems.push(...ledger.verdict(screen));
    await stay(running, context, cleanup, screen, onInterrupt);
  }
  const badEnd = await abortable(connector.stop(GRACE_MS), over);
  if (badEnd !== undefined)
    problems.push(
      `The connector did not stop properly: ${badEnd}. The end of its log:\n${connector.tail()}`,
    );
  // Reads to the end, to include the records that were published last.
  await abortable(reader.readToEnd(AbortSignal.any([over, AbortSignal.timeout(STALLED_MS)])), over);
  return [...problems, ...ledger.verdict(screen)];
}

/** Sends a round of e-mails, with the poison spread evenly among them. */
async function sendRound({ producer, emails }: Running, over: AbortSignal): Promise<void> {
  const every = ROUND / PER_SEND / POISON.length;
  for (let send = 0; send < ROUND / PER_SEND && !over.aborted; send++) {
    const poison = POISON.slice(Math.floor(send / every), Math.floor((send + 1) / every));
    await producer.send([...poison, ...(await nextEvents(emails, PER_SEND))]);
    await sleep(PAUSE_MS, undefined, { signal: over });
  }
}

/** Shows the counts until everything has come back. @returns a problem if the counts stop changing */
async function watch(
  { connector, ledger, reader }: Running,
  sending: Promise<void>,
  over: AbortSignal,
  screen: Screen,
): Promise<string[]> {
  let before = '';
  let changedMs = performance.now();
  let isSent = false;
  sending.then(
    () => {
      isSent = true;
    },
    () => undefined,
  );
  for (;;) {
    await reader.readToEnd(over).catch(() => over.throwIfAborted());
    const { counts } = ledger;
    screen.draw(`  ${counts}`);
    if (isSent && ledger.waiting === 0) break;
    if (counts !== before) changedMs = performance.now();
    before = counts;
    if (performance.now() - changedMs > STALLED_MS) {
      const readiness = await fetch(`${connector.url}/readyz`, {
        signal: AbortSignal.timeout(2_000),
      })
        .then((response) => response.text())
        .catch((error: Error) => error.message);
      screen.draw('');
      return [
        `Nothing moved for ${STALLED_MS / 1_000} s. The connector's /readyz: ${readiness.trim()}\nThe end of its log:\n${connector.tail()}`,
      ];
    }
    await sleep(TICK_MS, undefined, { signal: over }).catch(() => undefined);
    over.throwIfAborted();
  }
  screen.draw('');
  return [];
}
