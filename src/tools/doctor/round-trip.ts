/** Sends one harmless row to the service and fetches its result. Only on request: it may be billed. */
import type { Clock } from '../../../packages/client/src/base/clock.ts';
import { jsonTextOf } from '../../../packages/client/src/base/json/json-text.ts';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { PipelineKind, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem } from '../../core/record.ts';
import { bodyOf } from './body-of.ts';
import type { DoctorParts, PipelineParts } from './check.ts';
import { type Diagnosis, type DoctorCheck, failed, notTried, ok, warning } from './check.ts';
import { apiCheckOf } from './service-checks.ts';

const CONTENT = 'This is a connection test of Content Review Connector. It is no real content.';
/** Key of the row: its one record is known. */
const ROW_KEY = 'ZG9jdG9y';
const FIRST_WAIT_MS = 250;
const LAST_WAIT_MS = 2_000;
/** For the steps after the last status request. */
const GRACE_MS = 15_000;

export function roundTripCheck(
  { remote, inspection, types }: PipelineParts,
  clock: Clock,
  { limitMs, type: given }: NonNullable<DoctorParts['roundTrip']>,
  sampled: { readonly type?: string },
): DoctorCheck {
  return {
    name: 'service.round-trip',
    about: 'round trip of one test row',
    needs: [apiCheckOf(inspection.pipeline.kind)],
    limitMs: limitMs + GRACE_MS,
    async run(signal) {
      if (remote === undefined) return notTried('a lookup creates nothing at the service');
      const type = given ?? types[0] ?? sampled.type;
      if (type === undefined)
        return notTried(
          'neither source.types nor a record of the source has a content type: choose one with --type',
        );
      try {
        return await roundTrip(remote, testItem(remote, type, clock), clock, limitMs, signal);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return failed(error.message);
      }
    },
  };
}

async function roundTrip(
  kind: PipelineKind,
  item: ContentItem,
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const startedMs = clock.monotonic();
  const noun = kind.name === 'import' ? 'import' : 'batch';
  const created = await kind.create(item.type, signal);
  const what = `${noun} ${created.remoteId}`;
  await kind.upload(created, await bodyOf(kind, [item], ROW_KEY), signal);

  let status: RemoteStatus;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LAST_WAIT_MS, waitMs * 2)) {
    await clock.sleep(waitMs, signal);
    status = await kind.status(created.remoteId, signal, item.type);
    if (['finished', 'failed', 'cancelled'].includes(status.state)) break;
    if (clock.monotonic() - startedMs >= limitMs)
      return warning(
        `${what} was uploaded, and is ${status.rawState} after ${seconds(limitMs)}; the service continues with it`,
        `check it later with ${noun} get ${created.remoteId}`,
      );
  }
  if (status.state !== 'finished')
    return failed(
      `${what} ended as ${status.rawState}`,
      `ask the operator of the service for the cause; the content type was ${JSON.stringify(item.type)}`,
    );

  const problem = 'results' in kind ? await resultProblem(kind, status, item, signal) : undefined;
  if (problem === NO_RESULT)
    return warning(
      `${what}: ${problem}`,
      'if the result file has the result in a column that does not end in " result", name that column in review.resultColumn',
    );
  if (problem !== undefined)
    return failed(
      `${what}: ${problem}`,
      'inspect the result file (batch results), and any intermediary that may change it',
    );
  const done = noun === 'import' ? 'imported' : 'reviewed, fetched and compared';
  return ok(`${what}: created, uploaded, ${done} in ${seconds(clock.monotonic() - startedMs)}`);
}

const NO_RESULT = 'its row has no result';

/** Compares the results with the row that was sent. @returns the first difference */
async function resultProblem(
  kind: Extract<PipelineKind, { results: unknown }>,
  status: RemoteStatus,
  item: ContentItem,
  signal: AbortSignal,
): Promise<string | undefined> {
  const job = {
    jobId: 'doctor',
    remoteId: '',
    type: item.type,
    attempt: 1,
    rowKey: ROW_KEY,
    decidedAtMs: item.timestampMs,
  };
  let rows = 0;
  let problem: string | undefined;
  for await (const slice of kind.results(status, () => job, signal)) {
    for (const row of slice) {
      rows++;
      if ('malformed' in row) problem = `its row cannot be identified: ${row.malformed}`;
      else if ('poison' in row) problem = `its row is no decision: ${row.poison.message}`;
      else if (row.partition !== item.partition || row.offset !== item.offset)
        problem = 'its row names another record';
      else if (row.status === 'error') problem = 'the service gave its row the status ERROR';
      else if (row.result === undefined) problem = NO_RESULT;
    }
    slice.release();
  }
  return rows === 1 ? problem : `the result file has ${rows} rows, where one was sent`;
}

function testItem(kind: PipelineKind, type: string, clock: Clock): ContentItem {
  const own =
    kind.name === 'import'
      ? {
          type: 'import',
          content: jsonTextOf(type),
          metadata: jsonTextOf({ content: CONTENT, connection_test: true }),
        }
      : {
          type,
          content: jsonTextOf(CONTENT),
          metadata: jsonTextOf({ connection_test: true, checked: 'quotes " and, commas' }),
        };
  return {
    partition: 0,
    offset: 0,
    timestampMs: clock.now(),
    key: null,
    headers: [],
    expected: undefined,
    replay: 0,
    bytes: CONTENT.length,
    ...own,
  };
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
