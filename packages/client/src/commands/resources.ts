/** Batches, imports and decisions: calls to the service, and the documents that the commands print. */
import { EXIT, type ExitCode } from '../cli/exit-codes.ts';
import { counted, grouped, printableJson } from '../cli/text.ts';
import type {
  Batch,
  CallOptions,
  ContentReviewClient,
  Decision,
  Import,
  WaitOptions,
} from '../index.ts';
import { CONTENT_TYPES } from '../service/contract.ts';

/** Final state of a resource: `outcome` in the JSON documents. */
type ResourceOutcome = 'done' | 'failed' | 'partly_failed' | 'unfinished';

const CODES: Readonly<Record<ResourceOutcome, ExitCode>> = {
  done: EXIT.ok,
  failed: EXIT.problems,
  partly_failed: EXIT.problems,
  unfinished: EXIT.unfinished,
};

export interface ResourceView {
  readonly status: string | undefined;
  readonly rawStatus: string;
}

/** Kind of object at the service. It has methods, so that every resource type is assignable to `Resource`. */
export interface Resource<View extends ResourceView = ResourceView> {
  readonly kind: 'batch' | 'import' | 'decision';
  get(client: ContentReviewClient, id: string, options: CallOptions): Promise<View>;
  waitFor(client: ContentReviewClient, id: string, options: WaitOptions<View>): Promise<View>;
  outcome(view: View): ResourceOutcome;
  /** Returns the members of the document other than status and outcome. */
  members(view: View): object;
  /** Returns members that are already JSON, so that their numbers keep all digits. */
  raw?(view: View): Readonly<Record<string, string | null>>;
  /** Returns the progress, which is printed after the status. */
  progress?(view: View): string;
}

/** Resource that is created from a file. */
export interface FileResource<View extends ResourceView = ResourceView> extends Resource<View> {
  readonly kind: 'batch' | 'import';
  readonly contentType: string;
  create(
    client: ContentReviewClient,
    type: string,
    options: CallOptions,
  ): Promise<{ readonly id: string; readonly uploadUrl: string }>;
}

export const exitCodeOf = ({ outcome }: Resource, view: ResourceView): ExitCode =>
  CODES[outcome(view)];

/** Returns the JSON document of a resource, with a line break at the end. */
export function documentOf({ members, raw, outcome }: Resource, view: ResourceView): string {
  const { status = view.rawStatus } = view;
  const plain = JSON.stringify({ ...members(view), status, outcome: outcome(view) });
  const more = Object.entries(raw?.(view) ?? {}).map(([name, json]) => `,"${name}":${json}`);
  return `${printableJson(`${plain.slice(0, -1)}${more.join('')}}`)}\n`;
}

export const BATCH: FileResource<Batch> = {
  kind: 'batch',
  contentType: CONTENT_TYPES.csv,
  create: async (client, type, options) => {
    const { batchId: id, uploadUrl } = await client.createBatch(type, options);
    return { id, uploadUrl };
  },
  get: (client, ...args) => client.getBatch(...args),
  waitFor: (client, ...args) => client.waitForBatch(...args),
  outcome: ({ status, counts: { error = 0, cancelled = 0 } }) => {
    if (status === 'ERROR' || status === 'CANCELLED') return 'failed';
    if (status !== 'SUCCESS') return 'unfinished';
    return error + cancelled > 0 ? 'partly_failed' : 'done';
  },
  // Leaves out the presigned address, which is a secret.
  members: ({ batchId, type = null, counts }) => ({ batchId, type, counts }),
  progress: ({ counts: { total = 0, pending } }) =>
    pending === undefined ? '' : `, ${grouped(total - pending)} of ${counted(total, 'row')}`,
};

export const IMPORT: FileResource<Import> = {
  kind: 'import',
  contentType: CONTENT_TYPES.jsonl,
  create: async (client, _type, options) => {
    const { importId: id, uploadUrl } = await client.createImport(options);
    return { id, uploadUrl };
  },
  get: (client, ...args) => client.getImport(...args),
  waitFor: (client, ...args) => client.waitForImport(...args),
  outcome: ({ status }) =>
    status === 'COMPLETE' ? 'done' : status === 'FAILED' ? 'failed' : 'unfinished',
  members: ({ importId }) => ({ importId }),
};

export const DECISION: Resource<Decision> = {
  kind: 'decision',
  get: (client, ...args) => client.getDecision(...args),
  waitFor: (client, ...args) => client.waitForDecision(...args),
  outcome: ({ status }) =>
    status === 'SUCCESS' ? 'done' : status === 'ERROR' ? 'failed' : 'unfinished',
  members: ({ decisionId, result }) => ({ decisionId, result }),
  raw: ({ labelsJson, metadataJson }) => ({ labels: labelsJson, metadata: metadataJson }),
};
