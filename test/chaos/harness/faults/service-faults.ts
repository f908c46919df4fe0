/** Scripted faults of the sandbox, by kind of pipeline. */
import type { FaultInput } from '../../../support/service/fault-script.ts';
import type { Kind } from '../../load/pipelines.ts';

/** Faults by kind and by name in the report. Each fault hits real work, because it waits for a matching operation. */
const FAULTS: Readonly<Record<Kind, Readonly<Record<string, FaultInput>>>> = {
  review: {
    '429 with Retry-After': {
      operation: 'create_batch',
      action: 'answer',
      status: 429,
      retryAfter: '1s',
      times: 3,
    },
    '503 to polls': { operation: 'get_batch', action: 'answer', status: 503, times: 6 },
    '500 to uploads': { operation: 'upload', action: 'answer', status: 500, times: 2 },
    '503 to downloads': { operation: 'download', action: 'answer', status: 503, times: 2 },
    'batch temporarily unknown': {
      operation: 'get_batch',
      action: 'answer',
      status: 404,
      times: 3,
    },
    'reset before the create': { operation: 'create_batch', action: 'reset_before', times: 2 },
    'reset after the create': { operation: 'create_batch', action: 'reset_after', times: 2 },
    'reset before the upload': { operation: 'upload', action: 'reset_before', times: 2 },
    'reset after the upload': { operation: 'upload', action: 'reset_after', times: 2 },
    'no response to polls': { operation: 'get_batch', action: 'hang', times: 2 },
    'slow upload': { operation: 'upload', action: 'slow', bytesPerSecond: 20_000, times: 2 },
    'slow download': { operation: 'download', action: 'slow', bytesPerSecond: 20_000, times: 2 },
    'expired upload address': { operation: 'create_batch', action: 'expired_url', times: 2 },
    'expired download address': { operation: 'get_batch', action: 'expired_url', times: 8 },
    'upload event late': { operation: 'upload', action: 'late_event', by: '2s', times: 2 },
    'upload event too late': { operation: 'upload', action: 'late_event', by: '8s' },
    'misspelt states': {
      operation: 'create_batch',
      action: 'state',
      state: 'WATING_FOR_UPLOAD',
      times: 2,
    },
    'unknown states': {
      operation: 'get_batch',
      action: 'state',
      state: 'ON_HOLD',
      times: 3,
    },
    'batch id repeated': { operation: 'create_batch', action: 'repeat_id' },
    'download cut': { operation: 'download', action: 'cut', afterBytes: 2_000, times: 2 },
    'download short': { operation: 'download', action: 'short', bytes: 2_000, times: 2 },
    'batch ERROR': { operation: 'review', action: 'batch_error', times: 2 },
    'batch CANCELLED': { operation: 'review', action: 'batch_cancelled' },
    'stuck PENDING': { operation: 'review', action: 'stuck', for: '5s', times: 2 },
    'rows missing': { operation: 'review', action: 'rows', missing: 3, times: 2 },
    'rows duplicated': { operation: 'review', action: 'rows', duplicated: 4, times: 2 },
    'rows malformed': { operation: 'review', action: 'rows', malformed: 2, times: 2 },
    'rows unknown': { operation: 'review', action: 'rows', unknown: 3, times: 2 },
    'result column missing': {
      operation: 'review',
      action: 'rows',
      dropped: ['Sandbox result'],
      times: 2,
    },
    'status and result missing': {
      operation: 'review',
      action: 'rows',
      dropped: ['Status', 'Sandbox result'],
      times: 2,
    },
    'reference column missing': { operation: 'review', action: 'rows', dropped: ['connector_ref'] },
    'rows with an unclosed quote': {
      operation: 'review',
      action: 'rows',
      unclosed: 'forbidden phrase',
      times: 2,
    },
    'result file HTML': { operation: 'review', action: 'file', as: 'html', times: 2 },
    'result file without rows': {
      operation: 'review',
      action: 'file',
      as: 'header_only',
      times: 2,
    },
    'result file of commas': {
      operation: 'review',
      action: 'file',
      as: 'commas',
      bytes: 30 * 1024 * 1024,
    },
    'content in an error message': {
      operation: 'get_batch',
      action: 'quote',
      in: 'message',
      times: 2,
    },
    'content in a state': { operation: 'get_batch', action: 'quote', in: 'state', times: 2 },
    'rows shuffled': {
      operation: 'review',
      action: 'rows',
      shuffled: true,
      columns: { Reviewer: 'someone' },
      times: 2,
    },
  },
  // Does not include the fault by which two creates return the same id, because no response about an import reveals it.
  import: {
    'imports: 429 with Retry-After': {
      operation: 'create_import',
      action: 'answer',
      status: 429,
      retryAfter: '1s',
      times: 2,
    },
    'imports: reset after the create': {
      operation: 'create_import',
      action: 'reset_after',
      times: 2,
    },
    'imports: expired upload address': { operation: 'create_import', action: 'expired_url' },
    'imports: 500 to uploads': {
      operation: 'upload_import',
      action: 'answer',
      status: 500,
      times: 2,
    },
    'imports: reset after the upload': {
      operation: 'upload_import',
      action: 'reset_after',
      times: 2,
    },
    'imports: upload event too late': {
      operation: 'upload_import',
      action: 'late_event',
      by: '8s',
    },
    'imports: no response to polls': { operation: 'get_import', action: 'hang' },
    'imports: temporarily unknown': {
      operation: 'get_import',
      action: 'answer',
      status: 404,
      times: 2,
    },
    'imports: unknown states': {
      operation: 'get_import',
      action: 'state',
      state: 'QUEUED',
      times: 3,
    },
    'import FAILED': { operation: 'ingest', action: 'import_failed', times: 2 },
    'import stuck IN_PROGRESS': { operation: 'ingest', action: 'stuck', for: '5s' },
  },
  // Does not include 404: with constant faults an id might get no other response during a whole grace period. The
  // simulation covers this case.
  lookup: {
    'decisions: 503': { operation: 'get_decision', action: 'answer', status: 503, times: 6 },
    'decisions: connection reset': { operation: 'get_decision', action: 'reset_after', times: 4 },
    'decisions: no response': { operation: 'get_decision', action: 'hang' },
    'decisions: unknown states': {
      operation: 'get_decision',
      action: 'state',
      state: 'ON_HOLD',
      times: 6,
    },
  },
};

/** Returns the faults for this kind of pipeline by their names in the report. */
export function serviceFaults(kind: Kind): ReadonlyMap<string, FaultInput> {
  return new Map(Object.entries(FAULTS[kind]).map(([name, fault]) => [`service: ${name}`, fault]));
}
