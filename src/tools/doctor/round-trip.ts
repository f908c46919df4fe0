/** One harmless row, to the service and back, as the pipeline would send it. Only when it is asked for: the service reviews it, and may bill it. */

import type { Clock } from '../../base/clock.ts';
import { bodyOf } from '../../core/batch/body-of.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { JobContext, PipelineKind, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import type { ContentItem, JsonObject } from '../../core/record.ts';
import { type Check, type Finding, failed, ok, skipped, warning } from './check.ts';
import type { PipelineParts } from './parts.ts';
import type { SampleCheck } from './sample-check.ts';

const CONTENT = 'This is a connection test of Content Review Connector. It is no real content.';
const FIRST_WAIT_MS = 250;
const LAST_WAIT_MS = 2_000;
/** For what comes after the last look. */
const GRACE_MS = 15_000;

export function roundTripCheck(
  pipeline: PipelineParts,
  clock: Clock,
  settings: { readonly limitMs: number; readonly type: string | undefined },
  needs: readonly Check[],
  sample: SampleCheck,
): Check {
  return {
    name: 'service.round-trip',
    pipeline: pipeline.name,
    about: 'round trip of one test row',
    needs,
    // It may know a content type.
    after: [sample.check],
    limitMs: settings.limitMs + GRACE_MS,
    async run(signal) {
      const { remote } = pipeline;
      if (remote === undefined) return skipped('not tried, because a lookup sends nothing');
      const type = settings.type ?? pipeline.types[0] ?? sample.type();
      if (type === undefined)
        return skipped(
          'not tried, because neither source.types nor a record of the source names a content type: name one with --type',
        );
      try {
        return await there(remote, testItem(remote, type, clock), clock, settings.limitMs, signal);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return failed(error.message);
      }
    },
  };
}

async function there(
  kind: PipelineKind,
  item: ContentItem,
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
): Promise<Finding> {
  const startedMs = clock.now();
  const body = await bodyOf(kind, [item]);
  const created = await kind.create(item.type, signal);
  const what = `${kind.name === 'import' ? 'import' : 'batch'} ${created.remoteId}`;
  await kind.upload(created, body, signal);
  let status: RemoteStatus;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(LAST_WAIT_MS, waitMs * 2)) {
    await clock.sleep(waitMs, signal);
    status = await kind.status(created.remoteId, signal, item.type);
    if (status.state === 'finished' || status.state === 'failed' || status.state === 'cancelled')
      break;
    if (clock.now() - startedMs >= limitMs)
      return warning(
        `${what} was uploaded, and is ${status.rawState} after ${seconds(limitMs)}: the service goes on with it`,
        `ask again with ${kind.name === 'import' ? 'import' : 'batch'} get ${created.remoteId}`,
      );
  }
  if (status.state !== 'finished')
    return failed(
      `${what} ended as ${status.rawState}`,
      `ask whoever runs the service why; the content type was ${JSON.stringify(item.type)}`,
    );
  const job = contextOf(item, created.remoteId, clock);
  const { wrong, hasResult } =
    'results' in kind
      ? await compared(
          kind.results(status, () => job, signal),
          item,
        )
      : { wrong: undefined, hasResult: true };
  const took = seconds(clock.now() - startedMs);
  if (wrong !== undefined)
    return failed(
      `${what}: ${wrong}`,
      'look at the result file (batch results), and at who changes it on the way',
    );
  if (!hasResult)
    return warning(
      `${what}: its row has no result`,
      'if the result file has the result in a column that does not end in " result", name that column in review.resultColumn',
    );
  return ok(
    `${what}: created, uploaded, ${kind.name === 'import' ? 'imported' : 'reviewed, fetched, and the same as what was sent'} in ${took}`,
  );
}

interface Compared {
  /** undefined: nothing. */
  readonly wrong: string | undefined;
  readonly hasResult: boolean;
}

/** Problem with the results. */
async function compared(
  slices: ReturnType<Extract<PipelineKind, { results: unknown }>['results']>,
  item: ContentItem,
): Promise<Compared> {
  let rows = 0;
  let hasResult = true;
  let problem: string | undefined = 'the result file has no row';
  for await (const slice of slices) {
    for (const row of slice) {
      rows++;
      if ('malformed' in row) problem = `its row cannot be told: ${row.malformed}`;
      else if ('poison' in row)
        problem = `no decision can be made of its row: ${row.poison.message}`;
      else if (row.partition !== item.partition || row.offset !== item.offset)
        problem = 'its row names another record';
      else if (row.status === 'error') problem = 'the service gave its row the status ERROR';
      else {
        hasResult = row.result !== undefined;
        problem = sameMetadata(row.record.value, item.metadata)
          ? undefined
          : 'its metadata came back changed';
      }
    }
    slice.release();
  }
  return {
    wrong: rows > 1 ? `the result file has ${rows} rows, where one was sent` : problem,
    hasResult,
  };
}

function sameMetadata(value: Buffer | string | null, metadata: JsonObject): boolean {
  const decision = JSON.parse(String(value)) as { readonly metadata?: JsonObject };
  return Object.entries(metadata).every(([key, sent]) => decision.metadata?.[key] === sent);
}

function testItem(kind: PipelineKind, type: string, clock: Clock): ContentItem {
  const isImport = kind.name === 'import';
  return {
    partition: 0,
    offset: 0,
    timestampMs: clock.now(),
    key: null,
    headers: [],
    type: isImport ? 'import' : type,
    content: isImport
      ? JSON.stringify({ type, data: { content: CONTENT, connection_test: true } })
      : CONTENT,
    metadata: isImport ? {} : { connection_test: true, checked: 'quotes " and, commas' },
    expected: undefined,
    replay: 0,
    bytes: CONTENT.length,
  };
}

function contextOf({ type }: ContentItem, remoteId: string, clock: Clock): JobContext {
  const nowMs = clock.now();
  return { jobId: 'doctor', remoteId, type, attempt: 1, decidedAtMs: nowMs };
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
