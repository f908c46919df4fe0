import type {
  FailureRow,
  JobRule,
  Reaction,
  ServiceCall,
} from '../../src/core/outcome/failure-row.ts';
import { FAILURE_TABLE } from '../../src/core/outcome/failure-table.ts';
import type { ServiceFailure } from '../../src/core/outcome/service-error.ts';
import { table } from './markdown.ts';

/** Descriptions of the kinds of failed calls, in the order of the table's columns. */
const FAILURES: Readonly<Record<ServiceFailure, string>> = {
  rejected: '400, 422 and other 4xx',
  unauthorized: '401, 403 of `baseUrl`',
  not_found: '404, 410',
  too_large: '413, EntityTooLarge',
  expired: 'presigned address expired',
  unavailable:
    '408, 429, 5xx, SlowDown, timeout, reset, out of reach; after the retries of the client',
  protocol: 'answer without sense, file cut',
  blocked: 'refused on this side by `service.transfer`: address, size, encoding',
};
const CALLS: Readonly<Record<ServiceCall, string>> = {
  create: 'create a batch',
  upload: 'upload',
  status: 'ask for the state',
  results: 'download',
};

/** docs/failures.md, from the table that the engine asks. */
export function failuresPage(): string {
  const rows = FAILURE_TABLE.map(({ event, connector, user, options = [] }) => [
    event,
    connector,
    user,
    options.map(code).join(', '),
  ]);
  const calls = Object.keys(CALLS) as ServiceCall[];
  const reactions = (Object.keys(FAILURES) as ServiceFailure[]).map((failure) => [
    FAILURES[failure],
    ...calls.map((call) => shown(rowOf(call, failure)?.reaction)),
  ]);
  const jobs = FAILURE_TABLE.flatMap(({ event, job }) =>
    job === undefined ? [] : [[code(job.failure), event, fate(job)]],
  );
  return `# Failures

Generated from \`src/core/outcome/failure-table.ts\` by \`node dev/docs/generate.ts\`; do not edit. The engine decides by this table
(\`src/core/outcome/failure-policy.ts\`), and \`test/integration/failures\` has a test for each row, whose name begins with its event.

Nothing here costs a record its decision or dead letter. Waiting is the answer to everything that may pass; an ERROR decision
or a dead letter only to what would fail for ever. Options are those of a pipeline ([configuration.md](configuration.md)),
metrics have the prefix \`content_review_\` ([metrics.md](metrics.md)).

${table(['Event', 'The connector', 'You see', 'Options'], rows)}

## A call that failed

What a call leads to once the client's own retries (\`service.retry\`) are used up. Only \`unavailable\` failures are retried by
the client. A Retry-After is a floor for every wait, of uploads and downloads too.

${table(['The call failed by', ...calls.map((call) => CALLS[call])], reactions)}

## A batch that failed

The code is the \`reason\` of \`jobs_failed_total\` and the \`error.code\` of ERROR decisions.

${table(['Code', 'Event', 'Its records'], jobs)}

While a type keeps failing as a whole, only the batch that is let through once per \`review.typePause\` counts as an attempt: an
outage of the service says nothing about content.
`;
}

const code = (text: string): string => `\`${text}\``;

function rowOf(call: ServiceCall, failure: ServiceFailure): FailureRow | undefined {
  return FAILURE_TABLE.find(({ calls }) => calls?.[call]?.includes(failure));
}

function shown(reaction: Reaction | undefined): string {
  switch (reaction?.do) {
    case 'wait':
      return reaction.because === 'unauthorized' ? 'wait for the key, again' : 'wait, again';
    case 'reject_type':
      return 'hold the type back, or dead letters';
    case 'fail':
      return `the batch failed: \`${reaction.as}\``;
    case 'download_again':
      return reaction.counted
        ? 'again, at most `review.downloadRetries` times; then `results_unreadable`'
        : 'again, for as long as it takes';
    case undefined:
      return '';
  }
}

function fate({ again, halved }: JobRule): string {
  const last = 'decisions with status ERROR, or dead letters (`review.onFailure`)';
  const halving = halved
    ? 'halved until each stands alone (`review.maxRetryBatches` at most), then '
    : '';
  switch (again) {
    case 'always':
      return 'submitted again, for as long as it takes';
    case 'attempts':
      return `submitted again until \`review.attempts\`, then ${halving}${last}`;
    case 'never':
      return `${halving}${last}`;
  }
}
