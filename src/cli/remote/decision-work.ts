/** What the command for decisions does. */
import type { Decision, WaitOptions } from '../../client/index.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import type { ConnectionFlags } from './connection.ts';
import { commandLine } from './continue.ts';
import { follow } from './follow.ts';
import { runSession, type Session } from './session.ts';
import { codeOf, decisionJson, decisionText, outcomeOfDecision, statusText } from './views.ts';
import { mustWait, type WaitFlags } from './wait-options.ts';

export interface DecisionFlags extends ConnectionFlags, WaitFlags {
  readonly json?: true;
}

export async function getDecision(
  io: Io,
  finish: Finish,
  id: string,
  flags: DecisionFlags,
): Promise<void> {
  mustWait(flags);
  await runSession(io, finish, flags, async (session) => {
    const { client, signal } = session;
    const decision =
      flags.wait === true
        ? await made(session, id, flags)
        : await client.decisions.get(id, { signal });
    io.out(flags.json === true ? decisionJson(decision) : decisionText(decision));
    return codeOf(outcomeOfDecision(decision));
  });
}

function made(session: Session, id: string, flags: DecisionFlags): Promise<Decision> {
  const ask = (options: WaitOptions<Decision>) => session.client.decisions.waitFor(id, options);
  const command = commandLine(
    session.io,
    ['decision', 'get', id, '--wait', flags.json && '--json'],
    flags,
  );
  return follow<Decision>(session, {
    name: `decision ${printable(id)}`,
    ask,
    state: statusText,
    command,
    timeoutMs: flags.timeout,
    sent: false,
  });
}
