/** State of a pipeline's remote work at the service, by kind, for the inspection tools. */
import { textOfString } from '../../../packages/client/src/base/json/json-text.ts';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { BatchView } from '../../../packages/client/src/service/answers.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { Inspection, RemoteBatch } from '../../tools/inspect/context.ts';
import { plainDecoder } from './sample.ts';

interface RemoteAnswer {
  /** undefined for a status that this version does not know. */
  readonly status: string | undefined;
  readonly rawStatus: string;
  readonly counts?: BatchView['counts'];
}

type Read = (id: string, options: { readonly signal: AbortSignal }) => Promise<RemoteAnswer>;

/** Functions that read the state of a job of the pipeline, or for lookups the state of a record's decision. */
export function remoteState(
  pipeline: PipelineConfig,
  service: Readonly<Record<'getBatch' | 'getImport' | 'getDecision', Read>>,
  signal: AbortSignal,
): Pick<Inspection, 'remoteBatch' | 'remoteDecision'> {
  if (pipeline.kind !== 'lookup') {
    const call = pipeline.kind === 'review' ? 'getBatch' : 'getImport';
    return { remoteBatch: (id) => stateIn(service[call](id, { signal })) };
  }
  return {
    remoteBatch: undefined,
    async remoteDecision(record) {
      const decoded = plainDecoder(pipeline)?.(record, 0);
      if (decoded === undefined || !('item' in decoded)) return undefined;
      return await stateIn(service.getDecision(textOfString(decoded.item.content), { signal }));
    },
  };
}

/** @throws ServiceError when the request fails otherwise */
async function stateIn(answer: Promise<RemoteAnswer>): Promise<RemoteBatch> {
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
