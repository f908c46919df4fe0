/** Batches, imports and decisions: their calls, their files, and how they are shown. */
import type {
  Batch,
  ClientCallOptions,
  ClientUploadOptions,
  ContentReviewClient,
  Decision,
  Import,
  UploadSource,
  WaitOptions,
} from '../index.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { counted, facts, grouped, jsonText, printable, printableJson, table } from './text.ts';

/** End of a resource, as `outcome` in JSON documents. */
type ResourceOutcome = 'done' | 'failed' | 'partly_failed' | 'unfinished';

const CODES: Readonly<Record<ResourceOutcome, ExitCode>> = {
  done: EXIT.ok,
  failed: EXIT.problems,
  partly_failed: EXIT.problems,
  unfinished: EXIT.unfinished,
};

/** State of a resource. */
export interface ResourceView {
  readonly status: string | undefined;
  readonly rawStatus: string;
}

/** Resource of the service. Its members are methods, so that any resource is a `Resource`. */
export interface Resource<View extends ResourceView = ResourceView> {
  readonly kind: 'batch' | 'import' | 'decision';
  calls(client: ContentReviewClient): {
    get(id: string, options: ClientCallOptions): Promise<View>;
    waitFor(id: string, options: WaitOptions<View>): Promise<View>;
  };
  outcome(view: View): ResourceOutcome;
  /** Members of the JSON document besides status and outcome; those of `raw` are JSON, whose numbers keep their digits. */
  json(view: View): {
    readonly plain: object;
    readonly raw?: Readonly<Record<string, string | null>>;
  };
  text(view: View): string;
  /** Progress, to follow the status. */
  progress?(view: View): string;
  /** Rows of the result file, if the service has counted them. */
  rows?(view: View): number | undefined;
}

/** Resource that is made of a file. */
export interface FileResource<View extends ResourceView = ResourceView> extends Resource<View> {
  readonly create: (
    client: ContentReviewClient,
    type: string,
    options: ClientCallOptions,
  ) => Promise<{ readonly id: string; readonly uploadUrl: string }>;
  readonly upload: (
    client: ContentReviewClient,
    created: { readonly uploadUrl: string },
    source: UploadSource,
    options: ClientUploadOptions,
  ) => Promise<void>;
}

export const exitCodeOf = ({ outcome }: Resource, view: ResourceView): ExitCode =>
  CODES[outcome(view)];

/** Returns the status of a view and its progress, in a few words. */
export function stateOf({ progress = () => '' }: Resource, view: ResourceView): string {
  const unknown = view.status === undefined ? ', which this version does not know' : '';
  return `${printable(view.rawStatus)}${unknown}${progress(view)}`;
}

/** Returns the answer of a command, with its line end. */
export function shown(
  { json, text, outcome }: Resource,
  view: ResourceView,
  asJson: boolean,
): string {
  if (!asJson) return text(view);
  const { plain, raw = {} } = json(view);
  const status = view.status ?? view.rawStatus;
  return `${printableJson(jsonText({ ...plain, status, outcome: outcome(view) }, raw))}\n`;
}

export const BATCH: FileResource<Batch> = {
  kind: 'batch',
  calls: ({ batches }) => batches,
  create: async ({ batches }, type, options) => {
    const { batchId: id, uploadUrl } = await batches.create(type, options);
    return { id, uploadUrl };
  },
  upload: ({ batches }, ...upload) => batches.upload(...upload),
  outcome: ({ status, counts: { error = 0, cancelled = 0 } }) => {
    if (status === 'ERROR' || status === 'CANCELLED') return 'failed';
    if (status !== 'SUCCESS') return 'unfinished';
    return error + cancelled > 0 ? 'partly_failed' : 'done';
  },
  // Without the presigned address, which is a secret.
  json: ({ batchId, type, counts }) => ({ plain: { batchId, type: type ?? null, counts } }),
  text: ({ batchId, type = '', rawStatus, counts }) => {
    const { total = 0, success, pending, error, cancelled } = counts;
    const words = { decided: success, pending, failed: error, cancelled };
    const parts = Object.entries(words).flatMap(([word, count]) =>
      count === undefined || (count === 0 && word !== 'decided') ? [] : `${grouped(count)} ${word}`,
    );
    const rows = total === 0 ? '' : `${grouped(total)}: ${parts.join(', ')}`;
    return facts({ batch: batchId, type, status: rawStatus, rows });
  },
  rows: ({ counts: { success, error } }) =>
    success === undefined || error === undefined ? undefined : success + error,
  progress: ({ status, downloadUrl, counts: { total = 0, pending } }) => {
    if (status === 'SUCCESS') return downloadUrl === undefined ? ', but without results' : '';
    return total === 0 || pending === undefined
      ? ''
      : `, ${grouped(total - pending)} of ${counted(total, 'row')} decided`;
  },
};

const IMPORT: FileResource<Import> = {
  kind: 'import',
  calls: ({ imports }) => imports,
  create: async ({ imports }, _type, options) => {
    const { importId: id, uploadUrl } = await imports.create(options);
    return { id, uploadUrl };
  },
  upload: ({ imports }, ...upload) => imports.upload(...upload),
  outcome: ({ status }) =>
    status === 'COMPLETE' ? 'done' : status === 'FAILED' ? 'failed' : 'unfinished',
  json: ({ importId }) => ({ plain: { importId } }),
  text: ({ importId, rawStatus }) => facts({ import: importId, status: rawStatus }),
};

const DECISION: Resource<Decision> = {
  kind: 'decision',
  calls: ({ decisions }) => decisions,
  outcome: ({ status }) =>
    status === 'SUCCESS' ? 'done' : status === 'ERROR' ? 'failed' : 'unfinished',
  json: ({ decisionId, result, labelsJson, metadataJson }) => ({
    plain: { decisionId, result },
    raw: { labels: labelsJson, metadata: metadataJson },
  }),
  text: ({ decisionId, rawStatus, result, labels, metadataJson }) => {
    const metadata = metadataJson === '{}' ? '' : metadataJson;
    const above = facts({
      decision: decisionId,
      status: rawStatus,
      result: result ?? '',
      metadata,
    });
    if (labels === null || labels.length === 0) return above;
    const rows = labels.map(({ name, applied, explanation }) => [
      name,
      applied ? 'yes' : 'no',
      explanation,
    ]);
    return `${above}\n${table(['LABEL', 'APPLIES', 'EXPLANATION'], rows)}`;
  },
};

export const RESOURCES = { batch: BATCH, import: IMPORT, decision: DECISION } as const;
