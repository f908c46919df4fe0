import type { ServiceFailure } from '../../packages/client/src/base/service-error.ts';
import {
  FAILURE_TABLE,
  type FailureRow,
  type JobRule,
  type Reaction,
  type ServiceCall,
} from '../../src/core/outcome/failure-table.ts';
import { FAILURE_TEXTS } from './failure-texts.ts';
import { table } from './markdown.ts';

/** Descriptions of the kinds of failed calls, in the order of the table's rows. */
const FAILURES: Readonly<Record<ServiceFailure, string>> = {
  rejected: '400, 422 and other 4xx',
  unauthorized: '401, 403 from `baseUrl`',
  not_found: '404, 410',
  too_large: '413, EntityTooLarge',
  expired: 'presigned address expired',
  unavailable: '408, 429, 5xx, SlowDown, timeout, connection reset, unreachable',
  protocol: 'unusable response, truncated file',
  blocked: 'blocked by the connector (`service.transfer`): address, size, encoding',
};
const CALLS: Readonly<Record<ServiceCall, string>> = {
  create: 'create a batch',
  upload: 'upload',
  status: 'request the state',
  results: 'download',
};

/** Renders docs/failures.md from the table by which the engine decides. */
export function failuresPage(): string {
  const rows = FAILURE_TEXTS.map(({ event, connector, user, options = [] }) => {
    const job = FAILURE_TABLE.find((row) => row.event === event)?.job;
    const isCounted = job !== undefined && !user?.includes('jobs_failed_total');
    const counted = isCounted ? [code(`jobs_failed_total{reason="${job.failure}"}`)] : [];
    const shown = [...counted, ...(user === undefined ? [] : [user])];
    return [event, connector, shown.join(', '), options.map(code).join(', ')];
  });
  const calls = Object.keys(CALLS) as ServiceCall[];
  const reactions = (Object.keys(FAILURES) as ServiceFailure[]).map((failure) => [
    FAILURES[failure],
    ...calls.map((call) => shown(rowOf(call, failure)?.reaction)),
  ]);
  const codesByFate = new Map<string, string[]>();
  for (const { job } of FAILURE_TABLE) {
    if (job === undefined) continue;
    const codes = codesByFate.get(fate(job)) ?? [];
    codesByFate.set(fate(job), [...codes, code(job.failure)]);
  }
  const jobs = [...codesByFate].map(([end, codes]) => [codes.join(', '), end]);
  return `# Failures

Generated from \`src/core/outcome/failure-table.ts\` and \`dev/docs/failure-texts.ts\` by \`npm run generate\`; do not edit. The engine
uses the same table, and \`test/integration/failures\` has a test for each event.

Despite these events, each record gets its decision or dead letter. Transient failures are retried indefinitely; only permanent failures
end as an ERROR decision or a dead letter. Options belong to a pipeline ([configuration.md](configuration.md)),
metrics have the prefix \`content_review_\` ([metrics.md](metrics.md)).

${table(['Event', 'The connector', 'You see', 'Options'], rows)}

## A call that failed

This table shows the reaction to a failed call after the client's own five retries. The client retries only failures such as 408, 429, 5xx
and timeouts. Every wait is at least as long as a Retry-After.

${table(['Failure', ...calls.map((call) => CALLS[call])], reactions)}

## A batch that failed

Each code is a \`reason\` of \`jobs_failed_total\` and an \`error.code\` of ERROR decisions ([outcomes.md](outcomes.md)).

${table(['Code', 'Its records'], jobs)}
`;
}

const code = (text: string): string => `\`${text}\``;

function rowOf(call: ServiceCall, failure: ServiceFailure): FailureRow | undefined {
  return FAILURE_TABLE.find(({ calls }) => calls?.[call]?.includes(failure));
}

function shown(reaction: Reaction | undefined): string {
  switch (reaction?.do) {
    case 'wait':
      return reaction.because === 'api_key' ? 'retried until the key is accepted' : 'retried';
    case 'reject_type':
      return 'the type pauses, or its records become dead letters';
    case 'fail':
      return `the batch failed: \`${reaction.as}\``;
    case 'download_again':
      return reaction.counted
        ? 'repeated up to three times, then `results_unreadable`'
        : 'repeated indefinitely';
    case undefined:
      return '';
  }
}

function fate({ again, halved }: JobRule): string {
  const last = 'decisions with status ERROR, or dead letters (`review.onFailure`)';
  const halving = halved ? 'halved until each record is alone (at most 64 batches), then ' : '';
  switch (again) {
    case 'always':
      return 'submitted again, indefinitely';
    case 'attempts':
      return `submitted again until \`review.attempts\` is reached, then ${halving}${last}`;
    case 'never':
      return `${halving}${last}`;
  }
}
