/** Rows of the dashboard, from effects on users down to the Node process. */
import type { PanelSpec, Row } from './panels.ts';
import {
  age,
  FIRING,
  gauge,
  mean,
  nodeSeries,
  orZero,
  quantile,
  rate,
  series,
  sum,
} from './queries.ts';

const late = series('decisions_late_total');
const published = series('decisions_total');
const decided = series('decision_results_total');

const share = `1 - ${sum('pipeline', `increase(${late}[$__range])`)} / (${sum('pipeline', `increase(${published}[$__range])`)} > 0)`;
const oldest = age('oldest_unsettled_timestamp_seconds', 'pipeline');
/** Objective of the pipelines for which `value` has a series. */
const beside = (value: string, name: Parameters<typeof series>[0]): string =>
  `max by (pipeline) (${series(name)}) and on (pipeline) (${value})`;

const objective: Row = {
  title: 'Objective and balance',
  stats: [
    {
      title: 'In time',
      about:
        'Share of decisions in the time shown that were made within `objective.age` of their oldest event, and the objective. A pipeline without decisions has no share.',
      unit: 'percentunit',
      lines: [
        ['{{pipeline}}', share],
        ['{{pipeline}} objective', beside(share, 'objective_in_time_ratio')],
      ],
    },
    {
      title: 'Oldest event without a decision',
      about:
        'Age of the oldest consumed event that has neither a decision nor a dead letter, and the age by which decisions are due.',
      unit: 's',
      lines: [
        ['{{pipeline}}', orZero(oldest)],
        ['{{pipeline}} objective', beside(oldest, 'objective_age_seconds')],
      ],
    },
    {
      title: 'Balance',
      about: 'Items that are not accounted for: any value but 0 is a bug in the connector.',
      unit: 'short',
      lines: [['{{pipeline}}', sum('pipeline', `abs(${series('balance_items')})`)]],
      limits: [1, 1],
    },
    {
      title: 'Alerts',
      about:
        'Firing alerts of the selected jobs, instances and pipelines. docs/runbook has a page for each.',
      unit: 'short',
      lines: [['firing', orZero(`count(${FIRING})`)]],
      limits: [1, 1],
    },
  ],
  charts: [
    {
      title: 'Event to decision',
      about: "From the timestamp of a batch's oldest event to the commit of its decisions.",
      unit: 's',
      logarithmic: true,
      lines: [0.5, 0.9, 0.99].map((q) => [
        `{{pipeline}} ${q * 100} %`,
        quantile(q, 'event_to_decision_seconds', 'pipeline'),
      ]),
    },
    {
      title: 'In and out',
      about: 'Consumed events and their outcomes. The difference is in flight.',
      unit: 'ops',
      lines: [
        ['in', rate('events_consumed_total', '')],
        ['decided', rate('decisions_total', '')],
        ['dead letters', rate('dead_lettered_total', '')],
        ['skipped', orZero(rate('events_skipped_total', ''))],
      ],
    },
    {
      title: 'In flight',
      about:
        'Items that were consumed or recovered and are not settled yet. Buffered ones are in a batch that is not sealed yet.',
      unit: 'short',
      lines: [
        ['{{pipeline}} in flight', gauge('items_in_flight', 'pipeline')],
        ['{{pipeline}} buffered', gauge('items_buffered', 'pipeline')],
      ],
    },
  ],
};

const intake: Row = {
  title: 'Intake',
  charts: [
    {
      title: 'Lag',
      about: 'Source events that have not been read yet. Events in flight do not count.',
      unit: 'short',
      lines: [['{{pipeline}}', gauge('consumer_lag', 'pipeline')]],
    },
    {
      title: 'Who waits, and why',
      about:
        'Shards, partitions and content types that wait, by reason (docs/operating.md). The maximum over five minutes, since waits come and go.',
      unit: 'short',
      lines: [
        [
          '{{reason}}',
          orZero(`sum by (reason) (max_over_time(${series('shards_paused')}[5m])) > 0`),
        ],
      ],
    },
    {
      title: 'Dead letters',
      about: 'Source records that could not be reviewed, by reason.',
      unit: 'ops',
      stacked: true,
      lines: [['{{reason}}', orZero(`${rate('dead_lettered_total', 'reason')} > 0`)]],
    },
    {
      title: 'Lost or passed over',
      about:
        'Records that retention removed before they were read, and records skipped by a reset of the group. Both should be 0.',
      unit: 'short',
      lines: [
        [
          '{{pipeline}} lost',
          sum('pipeline', `increase(${series('unread_records_lost_total')}[$__rate_interval])`),
        ],
        [
          '{{pipeline}} passed over',
          sum('pipeline', `increase(${series('reset_skipped_records_total')}[$__rate_interval])`),
        ],
      ],
    },
  ],
};

const batches: Row = {
  title: 'Batches',
  charts: [
    {
      title: 'Live batches',
      about: 'Live batches by state. Those in state reviewing are at the service.',
      unit: 'short',
      stacked: true,
      lines: [['{{state}}', gauge('batches', 'state')]],
    },
    {
      title: 'Oldest batch',
      about: 'Age of the oldest live batch of each state.',
      unit: 's',
      lines: [['{{state}}', orZero(age('oldest_batch_timestamp_seconds', 'state'))]],
    },
    {
      title: 'Created and failed',
      about:
        'Batches created at the service, and attempts that ended without results, by reason (docs/failures.md).',
      unit: 'ops',
      lines: [
        ['created', rate('batches_created_total', '')],
        ['{{reason}}', orZero(rate('jobs_failed_total', 'reason'))],
      ],
    },
    {
      title: 'Second submissions',
      about:
        'Items submitted again, and creations with an unclear outcome. Each is still published exactly once.',
      unit: 'ops',
      lines: [
        ['resubmitted items', rate('items_resubmitted_total', '')],
        ['orphaned batches', rate('orphaned_jobs_total', '')],
      ],
    },
  ],
};

const stages: Row = {
  title: 'Stage latency',
  charts: [
    { title: 'Median', quantile: 0.5 },
    { title: '99 %', quantile: 0.99 },
  ].map(
    ({ title, quantile: q }): PanelSpec => ({
      title,
      about:
        'Time of a batch in each stage (docs/metrics.md, Labels). Stage review is the time at the service.',
      unit: 's',
      logarithmic: true,
      lines: [['{{stage}}', quantile(q, 'stage_duration_seconds', 'stage')]],
    }),
  ),
};

const CALLS = 'service, operation';
const CALL = '{{service}} {{operation}}';
const service: Row = {
  title: 'Service and storage',
  charts: [
    {
      title: 'Requests',
      about:
        'Requests by service, operation and response. Uploads and downloads go to the storage.',
      unit: 'ops',
      lines: [[`${CALL} {{code}}`, rate('http_requests_total', `${CALLS}, code`)]],
    },
    {
      title: 'Failed requests',
      about: 'Share of requests with a 4xx or 5xx response, or without a response.',
      unit: 'percentunit',
      lines: [
        [
          CALL,
          orZero(
            `${rate('http_requests_total', CALLS, 'code!~"2..|3.."')} / ${rate('http_requests_total', CALLS)}`,
          ),
        ],
      ],
    },
    {
      title: 'Duration of requests, 99 %',
      about: 'Duration of one request with its body, without retries.',
      unit: 's',
      logarithmic: true,
      lines: [[CALL, quantile(0.99, 'http_request_duration_seconds', CALLS)]],
    },
    {
      title: 'Retries',
      about: 'Retried requests, by cause.',
      unit: 'ops',
      lines: [[`${CALL} {{reason}}`, orZero(rate('http_retries_total', `${CALLS}, reason`))]],
    },
  ],
};

const decisions: Row = {
  title: 'Decisions and anomalies',
  charts: [
    {
      title: 'Mix of decisions',
      about: 'Decisions by result. Results beyond the first 20 count as other.',
      unit: 'ops',
      stacked: true,
      lines: [['{{result}}', rate('decision_results_total', 'result')]],
    },
    {
      title: 'Share of results, now and a week ago',
      about: 'Mix over six hours, compared with the same hours of last week.',
      unit: 'percentunit',
      lines: [
        [
          '{{result}}',
          `${sum('result', `increase(${decided}[6h])`)} / ignoring (result) group_left () ${sum('', `increase(${decided}[6h])`)}`,
        ],
        [
          '{{result}} a week ago',
          orZero(
            `${sum('result', `increase(${decided}[6h] offset 1w)`)} / ignoring (result) group_left () ${sum('', `increase(${decided}[6h] offset 1w)`)}`,
          ),
        ],
      ],
    },
    {
      title: 'Decisions with status ERROR',
      about: 'Share of decisions with an error instead of a review.',
      unit: 'percentunit',
      lines: [
        [
          '{{pipeline}}',
          `${rate('decisions_total', 'pipeline', 'status="ERROR"')} / ${rate('decisions_total', 'pipeline')}`,
        ],
      ],
    },
    {
      title: 'Anomalies of results',
      about: 'Rows that did not match the submitted ones. They are counted, never published.',
      unit: 'ops',
      stacked: true,
      lines: [['{{kind}}', rate('result_anomalies_total', 'kind')]],
    },
  ],
};

const kafka: Row = {
  title: 'Kafka',
  charts: [
    {
      title: 'Shards',
      about:
        'Shards owned by each instance. The sum is the number of shards, except briefly after a rebalance.',
      unit: 'short',
      stacked: true,
      lines: [['{{instance}} {{pipeline}}', gauge('shards_owned', 'instance, pipeline')]],
    },
    {
      title: 'Rebalances and claims',
      about: 'Joined generations, and claims of shards by outcome.',
      unit: 'short',
      lines: [
        ['rebalances', sum('', `increase(${series('rebalances_total')}[$__rate_interval])`)],
        [
          'claims {{outcome}}',
          sum('outcome', `increase(${series('claims_total')}[$__rate_interval])`),
        ],
      ],
    },
    {
      title: 'Transactions',
      about: 'Transactions by outcome. After a failure, the shard is claimed again.',
      unit: 'ops',
      lines: [['{{outcome}}', rate('transactions_total', 'outcome')]],
    },
    {
      title: 'Duration of a transaction',
      about: 'From its first send to its commit.',
      unit: 's',
      lines: [
        ['mean', mean('transaction_duration_seconds', '')],
        ['99 %', quantile(0.99, 'transaction_duration_seconds', '')],
      ],
    },
    {
      title: 'Silence of the brokers',
      about: 'Time for which no broker has responded to an instance; 0 while any broker responds.',
      unit: 's',
      lines: [['{{instance}}', `max by (instance) (${series('kafka_silent_seconds')})`]],
    },
    {
      title: 'Certificates',
      about:
        'Time until the first certificate of the Kafka connections expires; 0 if there are none.',
      unit: 's',
      lines: [
        [
          '{{certificate}}',
          orZero(
            `min by (certificate) (${series('kafka_tls_certificate_expiry_timestamp_seconds')}) - time()`,
          ),
        ],
      ],
    },
  ],
};

const node: Row = {
  title: 'Node',
  charts: [
    {
      title: 'Memory',
      about: 'Resident memory, the heap, and memory.budget with its used part.',
      unit: 'bytes',
      lines: [
        ['{{instance}} resident', nodeSeries('process_resident_memory_bytes')],
        ['{{instance}} heap', nodeSeries('nodejs_heap_size_used_bytes')],
        ['{{instance}} of the budget', series('memory_used_bytes')],
        ['{{instance}} budget', series('memory_budget_bytes')],
      ],
    },
    {
      title: 'CPU',
      about: 'Number of processors in use.',
      unit: 'short',
      lines: [
        ['{{instance}}', `rate(${nodeSeries('process_cpu_seconds_total')}[$__rate_interval])`],
      ],
    },
    {
      title: 'Event loop lag, 99 %',
      about: 'Delay of timers. More than a second endangers heartbeats and health checks.',
      unit: 's',
      lines: [['{{instance}}', nodeSeries('nodejs_eventloop_lag_p99_seconds')]],
    },
    {
      title: 'Garbage collection',
      about: 'Share of time spent in garbage collection.',
      unit: 'percentunit',
      lines: [
        [
          '{{instance}}',
          sum(
            'instance',
            `rate(${nodeSeries('nodejs_gc_duration_seconds_sum')}[$__rate_interval])`,
          ),
        ],
      ],
    },
    {
      title: 'Stuck transactions and conditions',
      about: 'Stuck transactions (/livez names their shards), and unmet conditions of /readyz.',
      unit: 'short',
      lines: [
        ['stuck', gauge('transactions_stuck', '')],
        ['not ready: {{condition}}', orZero(`count by (condition) (${series('ready')} == 0)`)],
      ],
    },
    {
      title: 'Versions and log',
      about:
        'Instances by version, and log lines dropped because standard output was not read fast enough.',
      unit: 'short',
      lines: [
        ['{{version}} on Node {{node}}', `count by (version, node) (${series('build_info')})`],
        [
          'dropped log lines',
          sum('', `increase(${series('log_lines_dropped_total')}[$__rate_interval])`),
        ],
      ],
    },
  ],
};

export const ROWS: readonly Row[] = [
  objective,
  intake,
  batches,
  stages,
  service,
  decisions,
  kafka,
  node,
];
