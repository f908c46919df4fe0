/** State of a pipeline's remote work at the service, by kind, for the inspection tools. */

import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import type { BatchView } from '../../../packages/client/src/service/answers.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { Inspection } from '../../tools/inspect/context.ts';

interface RemoteAnswer {
  /** undefined for a status that this version does not know. */
  readonly status: string | undefined;
  readonly rawStatus: string;
  readonly counts?: BatchView['counts'];
}

type Read = (id: string, options: { readonly signal: AbortSignal }) => Promise<RemoteAnswer>;

/** Returns a function that reads the state of a job of the pipeline; the service does not know those of a lookup. */
export function remoteState(
  { kind }: PipelineConfig,
  service: Readonly<Record<'getBatch' | 'getImport', Read>>,
  signal: AbortSignal,
): Inspection['remoteBatch'] {
  if (kind === 'lookup') return undefined;
  const call = kind === 'review' ? 'getBatch' : 'getImport';
  return async (id) => {
    try {
      const { status, rawStatus, counts } = await service[call](id, { signal });
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
  };
}
