import { EXIT, type ExitCode } from '../exit-codes.ts';
import { mustBeWritable, type OutputPlace, STANDARD_OUTPUT } from '../files/output.ts';
import type { Io } from '../io.ts';
import { printable, printableJson } from '../printable.ts';
import { checkFlags, commandLine, type ServiceFlags } from './flags.ts';
import { follow } from './follow.ts';
import {
  BATCH,
  DECISION,
  exitCodeOf,
  IMPORT,
  type Resource,
  type ResourceView,
  type Submission,
  shown,
} from './resources.ts';
import { saveResults } from './results.ts';
import { runSession, type Session } from './session.ts';
import { submitFile } from './submit.ts';

/** `batch submit`, `import submit`: sends a file once; with --wait shows how it ended, with --output fetches the results. */
export async function submit<V extends ResourceView>(
  io: Io,
  resource: Submission<V>,
  file: string,
  flags: ServiceFlags,
): Promise<void> {
  checkFlags('submit', flags);
  const place = flags.output === undefined ? undefined : placeOf(flags);
  await runSession(io, flags, async (session) => {
    if (place !== undefined) await mustBeWritable(place, file);
    const id = await submitFile(session, resource, file);
    const get = commandLine(
      io,
      [resource.kind, 'get', id, '--wait', flags.json && '--json'],
      flags,
    );
    if (flags.wait !== true) {
      io.out(
        flags.json
          ? `${printableJson(JSON.stringify({ [`${resource.kind}Id`]: id }))}\n`
          : `${printable(id)}\n`,
      );
      session.progress.note(`follow it with: ${get}`);
      return EXIT.ok;
    }

    const { json: _, ...others } = flags;
    const command = place === undefined ? get : resultsCommand(io, id, others);
    session.sent = { name: `${resource.kind} ${printable(id)}`, command };
    const view = await follow(session, resource, id, command);
    if (place === undefined || view.status !== 'SUCCESS') return show(session, resource, view);
    const fetching = { ...session, flags: others };
    const code = await saveResults(fetching, id, place, command, exitCodeOf(resource, view));
    if (place.target !== STANDARD_OUTPUT) show(session, resource, view);
    return code;
  });
}

/** `batch get`, `import get`, `decision get`. */
export function get(
  io: Io,
  kind: Resource<ResourceView>['kind'],
  id: string,
  flags: ServiceFlags,
): Promise<void> {
  if (kind === 'batch') return getOne(io, BATCH, id, flags);
  return kind === 'import' ? getOne(io, IMPORT, id, flags) : getOne(io, DECISION, id, flags);
}

async function getOne<V extends ResourceView>(
  io: Io,
  resource: Resource<V>,
  id: string,
  flags: ServiceFlags,
): Promise<void> {
  checkFlags('get', flags);
  await runSession(io, flags, async (session) => {
    const words = [resource.kind, 'get', id, '--wait', flags.json && '--json'] as const;
    return show(
      session,
      resource,
      await viewOf(session, resource, id, commandLine(io, words, flags)),
    );
  });
}

/** `batch results`. */
export async function results(io: Io, id: string, flags: ServiceFlags): Promise<void> {
  checkFlags('results', flags);
  const place = placeOf(flags);
  await runSession(io, flags, async (session) => {
    await mustBeWritable(place);
    const command = resultsCommand(io, id, flags);
    const batch = await viewOf(session, BATCH, id, command);
    return await saveResults(session, id, place, command, exitCodeOf(BATCH, batch));
  });
}

const placeOf = ({ output = STANDARD_OUTPUT, force }: ServiceFlags): OutputPlace => ({
  target: output,
  force: force === true,
});

function resultsCommand(io: Io, id: string, flags: ServiceFlags): string {
  const { output = STANDARD_OUTPUT, force, json, resultColumn } = flags;
  const file = output === STANDARD_OUTPUT ? [] : ['--output', output];
  const column = resultColumn === undefined ? [] : ['--result-column', resultColumn];
  const rest = ['--wait', ...file, force && '--force', json && '--json', ...column];
  return commandLine(io, ['batch', 'results', id, ...rest], flags);
}

/** The view now; with --wait the finished one. */
function viewOf<V extends ResourceView>(
  session: Session,
  resource: Resource<V>,
  id: string,
  command: string,
): Promise<V> {
  const { client, flags, signal } = session;
  return flags.wait === true
    ? follow(session, resource, id, command)
    : resource.calls(client).get(id, { signal });
}

function show<V extends ResourceView>(
  { io, flags }: Session,
  resource: Resource<V>,
  view: V,
): ExitCode {
  io.out(shown(resource, view, flags.json === true));
  return exitCodeOf(resource, view);
}
