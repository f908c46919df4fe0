/** State of a pipeline's remote work at the service, by kind, for the inspection tools. */
import type { PipelineConfig } from '../../config/schema.ts';
import { ServiceError } from '../../core/outcome/service-error.ts';
import type { SourceRecord } from '../../core/record.ts';
import type { BatchView } from '../../service/answers.ts';
import type { Inspection, RemoteBatch } from '../../tools/inspect/context.ts';
import { plainDecoder } from './sample.ts';

interface Cancellable {
  readonly signal: AbortSignal;
}

interface State {
  /** undefined for one that this version does not know. */
  readonly status: string | undefined;
  readonly rawStatus: string;
}

/** `src/service/client.ts` satisfies it. */
interface Service {
  getBatch(batchId: string, options: Cancellable): Promise<State & Pick<BatchView, 'counts'>>;
  getImport(importId: string, options: Cancellable): Promise<State>;
  getDecision(decisionId: string, options: Cancellable): Promise<State>;
}

/** How to ask about a job of the pipeline, and about a record of it where each record is a question of its own. */
export function remoteState(
  pipeline: PipelineConfig,
  service: Service,
  signal: AbortSignal,
): Pick<Inspection, 'remoteBatch' | 'remoteDecision'> {
  switch (pipeline.kind) {
    case 'review':
      return { remoteBatch: (id) => stateIn(service.getBatch(id, { signal })) };
    case 'import':
      return { remoteBatch: (id) => stateIn(service.getImport(id, { signal })) };
    case 'lookup':
      return {
        remoteBatch: undefined,
        remoteDecision: (record) => decisionOf(pipeline, service, record, signal),
      };
  }
}

async function decisionOf(
  pipeline: PipelineConfig,
  service: Service,
  record: SourceRecord,
  signal: AbortSignal,
): Promise<RemoteBatch | undefined> {
  const decoded = plainDecoder(pipeline)?.(record, 0);
  if (decoded === undefined || !('item' in decoded)) return undefined;
  return await stateIn(service.getDecision(decoded.item.content, { signal }));
}

/** @throws ServiceError when the service could not be asked. */
async function stateIn(
  answer: Promise<State & Partial<Pick<BatchView, 'counts'>>>,
): Promise<RemoteBatch> {
  try {
    const { status, rawStatus, counts } = await answer;
    const finished =
      counts?.success === undefined
        ? undefined
        : counts.success + (counts.error ?? 0) + (counts.cancelled ?? 0);
    return { status: status ?? rawStatus, finished, total: counts?.total };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const nothing = { finished: undefined, total: undefined };
    if (error.failure === 'not_found') return { status: 'unknown_to_service', ...nothing };
    if (error.failure === 'protocol')
      return { status: 'unreadable_answer', problem: error.message, ...nothing };
    throw error;
  }
}
