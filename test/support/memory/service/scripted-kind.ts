/**
 * PipelineKind over ReviewService: a minimal kind with terminal records that a checker can read. Each instance has
 * its own kind.
 */
import { jsonTextOf } from '../../../../packages/client/src/base/json/json-text.ts';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { BufferPool } from '../../../../src/core/bytes/buffer-pool.ts';
import type {
  MalformedRow,
  ResultRow,
  ResultSlice,
} from '../../../../src/core/bytes/result-slice.ts';
import type { EncodedBody, RowSink } from '../../../../src/core/bytes/row-sink.ts';
import type { DeadLetterReason } from '../../../../src/core/outcome/dead-letter-reason.ts';
import type {
  CreatedJob,
  JobContext,
  RemoteStatus,
  ResultFileKind,
} from '../../../../src/core/ports/pipeline-kind.ts';
import type {
  ContentItem,
  Decoded,
  OutgoingRecord,
  SourceCoordinate,
  SourceRecord,
} from '../../../../src/core/record.ts';
import type { Home } from '../kafka/client.ts';
import type { Fault, ResultLine, ReviewService, ServiceRow } from './review-service.ts';
import { ScriptedRows } from './scripted-rows.ts';
import { errorOf, ServiceCalls } from './service-calls.ts';

/** Value of a source record that decodes; `sourceValue` encodes it. */
export interface ScriptedContent {
  readonly type: string;
  readonly content: string;
  /** True if a filter skips the record. */
  readonly skip?: boolean;
}

/** JSON of a terminal record. */
export interface ScriptedDecision extends SourceCoordinate {
  readonly status: 'success' | 'error';
  readonly job: string;
  readonly remote: string;
  readonly type: string;
  readonly attempt: number;
  /** Number of earlier resets of the group; absent if 0. */
  readonly replay?: number;
  readonly error?: { readonly code: string; readonly message: string };
}

export function sourceValue(content: ScriptedContent): string {
  return JSON.stringify(content);
}

const ROWS_PER_SLICE = 100;
const NO_METADATA = jsonTextOf({});

export class ScriptedKind implements ResultFileKind {
  readonly name = 'scripted';
  readonly service: ReviewService;
  readonly #calls: ServiceCalls;

  /** @param home delivers the responses of the service to this instance @param client name of the instance */
  constructor(service: ReviewService, home: Home, client: string) {
    this.service = service;
    this.#calls = new ServiceCalls(service, home, client);
  }

  decode(record: SourceRecord, replay: number, again?: { readonly type: string }): Decoded {
    if (record.value === null) return poison('null_value', 'the record has no value');
    let parsed: unknown;
    try {
      parsed = JSON.parse(record.value.toString());
    } catch {
      return poison('not_json', 'the value is not JSON');
    }
    if (typeof parsed !== 'object' || parsed === null)
      return poison('not_an_object', 'the value is not an object');
    const { type: given, content, skip } = parsed as Partial<ScriptedContent>;
    const type = again?.type ?? given;
    if (skip === true && again === undefined) return { skip: 'filtered' };
    if (typeof type !== 'string') return poison('no_type', 'field type is missing');
    if (typeof content !== 'string') return poison('no_content', 'field content is missing');
    const { partition, offset, timestampMs, key, headers, value } = record;
    const item = {
      partition,
      offset,
      timestampMs,
      key,
      headers,
      type,
      // Lanes in tests have the name of their type.
      lane: type,
      content: jsonTextOf(content),
      replay,
      bytes: value?.length ?? 0,
    };
    return { item: { ...item, metadata: NO_METADATA, expected: undefined } };
  }

  rows(pool: BufferPool): RowSink {
    return new ScriptedRows(pool);
  }

  create(type: string, signal: AbortSignal): Promise<CreatedJob> {
    return this.#calls.call('create', signal, undefined, type, () => {
      const { id } = this.service.create(type);
      return { remoteId: id, uploadUrl: `memory://upload/${id}?signature=secret` };
    });
  }

  upload(job: CreatedJob, { body }: EncodedBody, signal: AbortSignal): Promise<void> {
    const rows = JSON.parse(body.toString()) as ServiceRow[];
    return this.#calls.call('upload', signal, job.remoteId, undefined, () =>
      this.service.put(job.remoteId, rows),
    );
  }

  status(remoteId: string, signal: AbortSignal): Promise<RemoteStatus> {
    return this.#calls.call('status', signal, remoteId, undefined, () => {
      const batch = this.service.batches.get(remoteId);
      if (batch === undefined) return { state: 'missing', rawState: '404' };
      const answer = { state: batch.state, rawState: batch.state.toUpperCase() };
      if (batch.state !== 'finished') return answer;
      const finished = { ...answer, resultUrl: `memory://results/${remoteId}?signature=secret` };
      return batch.expectedRows === undefined
        ? finished
        : { ...finished, expectedRows: batch.expectedRows };
    });
  }

  async *results(
    status: RemoteStatus,
    job: () => JobContext,
    signal: AbortSignal,
  ): AsyncIterable<ResultSlice> {
    const remoteId = /^memory:\/\/results\/([^?]+)/.exec(status.resultUrl ?? '')?.[1];
    if (remoteId === undefined)
      throw new ServiceError('protocol', 'no address to download from', { operation: 'results' });
    let cut: Fault | undefined;
    const whole = await this.#calls.call('results', signal, remoteId, undefined, (fault) => {
      cut = fault;
      return this.service.batch(remoteId).results;
    });
    const lines = whole.slice(0, cut?.afterRows ?? whole.length);
    const { slices, script } = this.service;
    const { rowsPerSlice = ROWS_PER_SLICE } = script;
    for (let at = 0; at < lines.length; at += rowsPerSlice) {
      signal.throwIfAborted();
      const about = job();
      yield slices.of(lines.slice(at, at + rowsPerSlice).map((line) => toResultRow(line, about)));
      await this.#calls.turn(signal);
    }
    if (cut?.afterRows !== undefined) throw errorOf(cut, 'results');
  }

  failure(
    item: ContentItem,
    error: { readonly code: string; readonly message: string },
    job: JobContext,
  ): OutgoingRecord {
    return decision(item, 'error', job, error);
  }
}

function poison(reason: DeadLetterReason, message: string): Decoded {
  return { poison: { reason, message } };
}

function toResultRow(line: ResultLine, job: JobContext): ResultRow | MalformedRow {
  if ('malformed' in line) return line;
  const { partition, offset, status } = line;
  return { partition, offset, status, record: decision(line, status, job) };
}

function decision(
  at: SourceCoordinate & { readonly replay?: number },
  status: 'success' | 'error',
  job: JobContext,
  error?: { readonly code: string; readonly message: string },
): OutgoingRecord {
  const value: ScriptedDecision = {
    partition: at.partition,
    offset: at.offset,
    status,
    job: job.jobId,
    remote: job.remoteId,
    type: job.type,
    attempt: job.attempt,
    ...(at.replay === undefined || at.replay === 0 ? {} : { replay: at.replay }),
    ...(error === undefined ? {} : { error }),
  };
  return { key: `${at.partition}:${at.offset}`, value: JSON.stringify(value) };
}
