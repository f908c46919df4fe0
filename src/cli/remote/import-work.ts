/** What the commands for imports do. */
import type { Import, WaitOptions } from '../../client/index.ts';
import { EXIT } from '../exit-codes.ts';
import { JsonlCheck } from '../files/jsonl-check.ts';
import type { Finish, Io } from '../io.ts';
import { printable } from '../printable.ts';
import type { ConnectionFlags } from './connection.ts';
import { commandLine } from './continue.ts';
import { follow } from './follow.ts';
import { runSession, type Session } from './session.ts';
import { submitFile } from './submit.ts';
import { codeOf, importJson, importText, jsonOf, outcomeOfImport, statusText } from './views.ts';
import { mustWait, type WaitFlags } from './wait-options.ts';

export interface ImportFlags extends ConnectionFlags, WaitFlags {
  readonly json?: true;
}

/** Submits the file once, and waits if asked to. @throws UsageProblem */
export async function submitImport(
  io: Io,
  finish: Finish,
  path: string,
  flags: ImportFlags,
): Promise<void> {
  mustWait(flags);
  await runSession(io, finish, flags, async (session) => {
    const { imports } = session.client;
    const { id } = await submitFile(session, path, {
      kind: 'import',
      check: (findings) => new JsonlCheck(findings),
      create: () => imports.create({ signal: session.signal }),
      idOf: ({ importId }) => importId,
      upload: (created, source, options) => imports.upload(created, source, options),
      arrived: async (importId) => {
        const { status } = await imports.get(importId, { signal: session.signal });
        return status !== undefined && status !== 'WAITING_FOR_UPLOAD';
      },
      look: (importId) => commandLine(io, ['import', 'get', importId], flags),
    });
    if (flags.wait === true) return tell(io, await finished(session, id, flags, true), flags.json);
    io.out(flags.json === true ? jsonOf({ importId: id }) : `${printable(id)}\n`);
    session.progress.note(`follow it with: ${getCommandLine(io, id, flags)}`);
    return EXIT.ok;
  });
}

export async function getImport(
  io: Io,
  finish: Finish,
  id: string,
  flags: ImportFlags,
): Promise<void> {
  mustWait(flags);
  await runSession(io, finish, flags, async (session) => {
    const { client, signal } = session;
    const one =
      flags.wait === true
        ? await finished(session, id, flags, false)
        : await client.imports.get(id, { signal });
    return tell(io, one, flags.json);
  });
}

const getCommandLine = (io: Io, id: string, flags: ImportFlags) =>
  commandLine(io, ['import', 'get', id, '--wait', flags.json && '--json'], flags);

function finished(
  session: Session,
  id: string,
  flags: ImportFlags,
  sent: boolean,
): Promise<Import> {
  const ask = (options: WaitOptions<Import>) => session.client.imports.waitFor(id, options);
  const command = getCommandLine(session.io, id, flags);
  return follow<Import>(session, {
    name: `import ${printable(id)}`,
    ask,
    state: statusText,
    command,
    timeoutMs: flags.timeout,
    sent,
  });
}

function tell(io: Io, one: Import, json: true | undefined): number {
  io.out(json === true ? importJson(one) : importText(one));
  return codeOf(outcomeOfImport(one));
}
