/**
 * Histories on which each alert must fire, and similar histories on which it must not fire. Series use the notation
 * of promtool: `0+5x60` starts with 0 and grows by 5, 60 times, once per step.
 */

export interface Case {
  /** Series without the prefix `content_review_`, which is added except to `up`. */
  readonly series: Readonly<Record<string, string>>;
  /** Evaluation times. For a short wait, these are all times at which the alert might fire. */
  readonly at: string | readonly string[];
  /** Labels of the firing alert as `name="value"`, without the severity. Undefined if it must not fire. */
  readonly labels?: readonly string[];
}

type Fires = Case & { readonly labels: readonly string[] };

export interface AlertCases {
  readonly fires: Fires | readonly Fires[];
  readonly quiet: Case | readonly Case[];
  /** Step of the series, by default 1m. */
  readonly step?: '1m' | '10m';
}

const P = '{pipeline="p"}';
const AT_P = ['pipeline="p"'];

/** Objective of the pipeline, unless the history has its own. */
export const OBJECTIVE: Case['series'] = {
  'objective_age_seconds{pipeline="p",lane="default"}': '3600x9000',
  [`objective_in_time_ratio${P}`]: '0.99x9000',
};

/** Returns series with `all` publications per step, `inTime` of them in time. */
const publications = (inTime: number, all: number, steps: number, pipeline = 'p') => ({
  [`decisions_late_total{pipeline="${pipeline}"}`]: `0+${all - inTime}x${steps}`,
  [`decisions_total{pipeline="${pipeline}",status="SUCCESS"}`]: `0+${all}x${steps}`,
});
/** Returns 10 publications per minute. For five hours all are in time; afterwards `inTime` of 10 are. */
const lateSinceFiveHours = (inTime: number) => ({
  [`decisions_late_total${P}`]: `0x300 ${10 - inTime}+${10 - inTime}x100`,
  'decisions_total{pipeline="p",status="SUCCESS"}': '0+10x400',
});
/** Returns late publications in the first five hours only. */
const lateForFiveHours = (inTime: number) => ({
  [`decisions_late_total${P}`]: `0+${10 - inTime}x300 ${300 * (10 - inTime)}x100`,
  'decisions_total{pipeline="p",status="SUCCESS"}': '0+10x400',
});
/** Returns an objective of a second pipeline, whose reviews are done by people. */
const people = (part: string, value: number) => ({
  [`objective_${part}{pipeline="people"${part === 'age_seconds' ? ',lane="default"' : ''}}`]: `${value}x9000`,
});
const paused = (reason: string, values: string, at: Case['at']) => ({
  series: { [`shards_paused{pipeline="p",reason="${reason}"}`]: values },
  at,
});
/** Evaluation times every two minutes of the first hour. */
const ALONG = Array.from({ length: 30 }, (_, n) => `${2 * n + 2}m`);
/** @param blip a short wait that needs no action, either at the start of the series or later */
const waiting = (reason: string, at: string, before: string, blip: string) => ({
  fires: [
    // Waits from the start, with a short interruption, and across a replaced instance.
    paused(reason, '1x90', at),
    paused(reason, '0x10 3x9 0 3x9', `${12 + Number.parseInt(at, 10)}m`),
    {
      series: {
        [`shards_paused{pipeline="p",reason="${reason}",instance="a"}`]: '1x8 stale',
        [`shards_paused{pipeline="p",reason="${reason}",instance="b"}`]: '_x9 1x90',
      },
      at,
    },
  ].map((one) => ({ ...one, labels: ['pipeline="p"', `reason="${reason}"`] })),
  quiet: [
    paused(reason, '1x90', before),
    paused(reason, `${blip} 0x90`, ALONG),
    paused(reason, `0x10 ${blip} 0x90`, ALONG),
    // Many shards wait every fifth minute.
    paused(reason, Array.from({ length: 12 }, () => '16 0 0 0 0').join(' '), ALONG),
  ],
});
const BLOCKED = waiting('type_blocked', '16m', '14m', '1x9');
// Short waits, such as during a key rotation or a registry restart.
const UNSERVED = [
  waiting('api_key', '16m', '12m', '1 1'),
  waiting('schema_registry', '16m', '12m', '3 3 3'),
];
/** Returns series of successful and failed requests of an operation. */
const requests = (operation: string, answered: string, failed: string) => ({
  [`http_requests_total{operation="${operation}",code="200"}`]: answered,
  [`http_requests_total{operation="${operation}",code="503"}`]: failed,
});
/** Returns the number of shards that an operator has paused or drained. */
const commanded = (state: string, values: string) => ({
  [`control{pipeline="p",state="${state}"}`]: values,
});
const waits = (reason: string, values: string) => ({
  [`shards_paused{pipeline="p",reason="${reason}"}`]: values,
});
const unavailable = (values: string) => waits('service', values);
/** Returns series of pipeline p, whose calls wait, and of two services. Requests to the service `down` fail. */
const twoServices = (own: string, down: string) => ({
  ...unavailable('4x90'),
  [`objective_in_time_ratio${P}`]: 'stale',
  [`objective_in_time_ratio{pipeline="p",service="${own}"}`]: '0.99x9000',
  'http_requests_total{service="default",operation="create_batch",code="201"}':
    down === 'default' ? '0x90' : '0+5x90',
  'http_requests_total{service="shadow",operation="create_batch",code="201"}':
    down === 'shadow' ? '0x90' : '0+5x90',
  [`http_requests_total{service="${down}",operation="create_batch",code="reset"}`]: '0+5x90',
});
/**
 * Returns results with `before` percent of spam for a week, then `since` percent for a day. Two other results share the
 * rest.
 */
const mix = (before: number, since: number) => {
  const series = (result: string, then: number, now: number) => [
    `decision_results_total{pipeline="p",result="${result}"}`,
    `0+${then}x1008 ${then * 1_008}+${now}x144`,
  ];
  const rest = (share: number) => (100 - share) / 2;
  return Object.fromEntries([
    series('spam', before, since),
    ...['ham', 'unsure'].map((result) => series(result, rest(before), rest(since))),
  ]);
};
/** Oldest event, ten minutes before the start. */
const OLD = { [`oldest_unsettled_timestamp_seconds${P}`]: '-600x400' };
const ended = (decisions: string, letters: string) => ({
  'decisions_total{pipeline="p",status="SUCCESS"}': decisions,
  'dead_lettered_total{pipeline="p",reason="not_json"}': letters,
});

export const CASES: Readonly<Record<string, AlertCases>> = {
  ContentReviewLateDecisionsFast: {
    fires: [
      // Many decisions are late, but only in the last hour of six.
      { series: lateSinceFiveHours(8), at: '6h', labels: AT_P },
      // One in ten decisions is late for six hours.
      {
        series: {
          ...publications(9, 10, 400),
          // One in ten decisions is late, with an objective that allows one in five.
          ...publications(9, 10, 400, 'people'),
          ...people('in_time_ratio', 0.8),
        },
        at: '6h30m',
        labels: AT_P,
      },
      // Nearly all decisions are late, with an objective that allows half.
      {
        series: { ...publications(2, 100, 400), [`objective_in_time_ratio${P}`]: '0.5x9000' },
        at: '6h30m',
        labels: AT_P,
      },
    ],
    quiet: [
      { series: publications(95, 100, 400), at: '6h30m' },
      // The problem is over, which the short windows detect.
      { series: lateForFiveHours(5), at: '5h45m' },
    ],
  },
  ContentReviewLateDecisionsSlow: {
    step: '10m',
    fires: {
      series: {
        ...publications(98, 100, 600),
        ...publications(95, 100, 600, 'people'),
        ...people('in_time_ratio', 0.9),
      },
      at: '90h',
      labels: AT_P,
    },
    quiet: { series: publications(995, 1_000, 600), at: '90h' },
  },
  ContentReviewEventTooOld: {
    fires: {
      series: {
        'lane_oldest_timestamp_seconds{pipeline="p",lane="default"}': '0x400',
        // Reviews by people and an archive have their own objectives.
        'lane_oldest_timestamp_seconds{pipeline="people",lane="default"}': '0x400',
        ...people('age_seconds', 86_400),
        'lane_oldest_timestamp_seconds{pipeline="p",lane="archive"}': '0x400',
        'objective_age_seconds{pipeline="p",lane="archive"}': '86400x9000',
      },
      at: '3h15m',
      labels: [...AT_P, 'lane="default"'],
    },
    quiet: {
      series: { 'lane_oldest_timestamp_seconds{pipeline="p",lane="default"}': '0+40x400' },
      at: '6h15m',
    },
  },
  ContentReviewStalled: {
    fires: [
      {
        series: {
          [`items_in_flight${P}`]: '5x120',
          ...OLD,
          ...ended('7x120', '0x120'),
          // Reviews by people take hours.
          'items_in_flight{pipeline="people"}': '5x120',
          'oldest_unsettled_timestamp_seconds{pipeline="people"}': '-600x120',
          ...people('age_seconds', 86_400),
        },
        at: ['76m', '100m'],
        labels: AT_P,
      },
      // The only instance is replaced during the stall, and its items stay in flight.
      {
        series: {
          'items_in_flight{pipeline="p",instance="a"}': '0x60 5x30 stale',
          'items_in_flight{pipeline="p",instance="b"}': '_x91 0 5x60',
          ...OLD,
          ...ended('7x150', '0x150'),
        },
        at: '140m',
        labels: AT_P,
      },
      // The pipeline reads nothing, and its lag is unknown for some minutes.
      {
        series: {
          [`consumer_lag${P}`]: '100x20 _x3 100x40',
          [`events_consumed_total${P}`]: '50x60',
          ...commanded('paused', '0x60'),
        },
        at: '40m',
        labels: AT_P,
      },
    ],
    quiet: [
      {
        series: { [`consumer_lag${P}`]: '100x60', [`events_consumed_total${P}`]: '50+1x60' },
        at: '40m',
      },
      ...['paused', 'drained'].map((state) => ({
        series: {
          [`consumer_lag${P}`]: '100x60',
          [`events_consumed_total${P}`]: '50x60',
          ...commanded(state, '4x60'),
        },
        at: '40m',
      })),
      // The pipeline is paused with buffered events.
      {
        series: {
          [`items_in_flight${P}`]: '5x120',
          ...ended('7x120', '0x120'),
          ...commanded('paused', '4x120'),
        },
        at: '100m',
      },
      // One settled event per hour is enough.
      {
        series: { [`items_in_flight${P}`]: '5x120', ...OLD, ...ended('7x120', '0x60 1x60') },
        at: '100m',
      },
      // The pipeline is idle for hours, then gets events whose reviews take most of an hour.
      {
        series: { [`items_in_flight${P}`]: '0x300 5x50 0x50', ...OLD, ...ended('7x400', '0x400') },
        at: ['316m', '330m', '349m', '356m'],
      },
      // A new pipeline has not settled any event yet.
      { series: { [`items_in_flight${P}`]: '5x50', ...OLD }, at: ['16m', '30m', '50m'] },
    ],
  },
  ContentReviewPaused: {
    fires: [
      ...BLOCKED.fires,
      { ...paused('paused', '4x300', '250m'), labels: ['pipeline="p"', 'reason="paused"'] },
    ],
    quiet: [
      ...BLOCKED.quiet,
      paused('paused', '4x300', '225m'),
      paused('paused', '4x100 0x20 4x179', '250m'),
      // The service is slow and has many batches.
      paused('in_flight', '2x90', '80m'),
    ],
  },
  ContentReviewBalanceBroken: {
    fires: {
      series: { 'balance_items{pipeline="p",instance="i"}': '-1x10' },
      at: '6m',
      labels: ['instance="i"', ...AT_P],
    },
    quiet: { series: { 'balance_items{pipeline="p",instance="i"}': '0 3 3 0 3 3 0x10' }, at: '6m' },
  },
  ContentReviewRecordsLost: {
    fires: { series: { [`unread_records_lost_total${P}`]: '0x5 12x60' }, at: '10m', labels: AT_P },
    quiet: { series: { [`unread_records_lost_total${P}`]: '12x60' }, at: '10m' },
  },
  ContentReviewInternalErrors: {
    fires: {
      series: { 'internal_errors_total{pipeline="p",stage="decode"}': '0x5 1x60' },
      at: '10m',
      labels: ['pipeline="p"', 'stage="decode"'],
    },
    quiet: { series: { 'internal_errors_total{pipeline="p",stage="decode"}': '3x120' }, at: '90m' },
  },
  ContentReviewDeadLetters: {
    fires: [
      {
        series: { [`events_consumed_total${P}`]: '0+100x60', ...ended('0+90x60', '0+10x60') },
        at: '40m',
        labels: AT_P,
      },
      {
        series: {
          [`events_consumed_total${P}`]: '0+100x60',
          'dead_lettered_total{pipeline="p",reason="unreadable_batch"}': '0x5 3x60',
        },
        at: '15m',
        labels: AT_P,
      },
    ],
    quiet: [
      {
        series: { [`events_consumed_total${P}`]: '0+100x60', ...ended('0+96x60', '0+4x60') },
        at: '40m',
      },
      {
        series: { 'dead_lettered_total{pipeline="p",reason="unreadable_batch"}': '3x120' },
        at: '90m',
      },
    ],
  },
  ContentReviewErrorDecisions: {
    fires: {
      series: {
        ...ended('0+8x60', '0x60'),
        'decisions_total{pipeline="p",status="ERROR"}': '0+2x60',
      },
      at: '45m',
      labels: AT_P,
    },
    quiet: {
      series: {
        ...ended('0+19x60', '0x60'),
        'decisions_total{pipeline="p",status="ERROR"}': '0+1x60',
      },
      at: '45m',
    },
  },
  ContentReviewServiceUnavailable: {
    fires: [
      ...UNSERVED.flatMap(({ fires }) => fires),
      // The service fails after an hour of work, and waiting components retry most of the time.
      {
        series: {
          ...unavailable('0x60 1 0 0 0 0 0 1 0 0 0 0 0 0 1 0 0 0 0'),
          ...requests('get_batch', '0+60x60 3600x40', '0x60 20+20x40'),
        },
        at: '76m',
        labels: ['pipeline="p"', 'reason="service"'],
      },
      // One of two operations fails.
      {
        series: {
          ...unavailable('4x60'),
          ...requests('get_batch', '0+60x60', '0x60'),
          ...requests('create_batch', '0x60', '0+5x60'),
        },
        at: '30m',
        labels: ['pipeline="p"', 'reason="service"'],
      },
      // One of four replicas cannot reach the service.
      {
        series: {
          ...Object.fromEntries(
            ['b', 'c', 'd'].flatMap((instance) => [
              [`shards_paused{pipeline="p",reason="service",instance="${instance}"}`, '0x90'],
              [
                `http_requests_total{operation="create_batch",code="201",instance="${instance}"}`,
                '0+5x90',
              ],
            ]),
          ),
          'shards_paused{pipeline="p",reason="service",instance="a"}': '2x90',
          'http_requests_total{operation="create_batch",code="201",instance="a"}': '60x90',
          'http_requests_total{operation="create_batch",code="headers_timeout",instance="a"}':
            '0+3x90',
        },
        at: ['20m', '85m'],
        labels: ['pipeline="p"', 'reason="service"'],
      },
      // Only the storage fails, which also prevents decisions.
      {
        series: {
          ...waits('transfer', '16x90'),
          ...requests('upload', '0x90', '0+60x90'),
          ...requests('get_batch', '0+60x90', '0x90'),
        },
        at: ['20m', '80m'],
        labels: ['pipeline="p"', 'reason="transfer"'],
      },
      // A proxy responds instead of the service.
      {
        series: {
          ...unavailable('16x90'),
          'http_requests_total{operation="get_batch",code="protocol"}': '0+60x90',
        },
        at: '30m',
        labels: ['pipeline="p"', 'reason="service"'],
      },
      // The pipeline's own service fails, and the service of other pipelines does not.
      {
        series: twoServices('shadow', 'shadow'),
        at: '30m',
        labels: ['pipeline="p"', 'reason="service"'],
      },
    ],
    quiet: [
      ...UNSERVED.flatMap(({ quiet }) => quiet),
      // The service of other pipelines fails.
      { series: twoServices('default', 'shadow'), at: '30m' },
      // The service responds slowly for a long time.
      {
        series: { ...unavailable('16x90'), ...requests('get_batch', '0+60x90', '0+1x90') },
        at: '80m',
      },
      // An outage of six minutes ends by itself.
      {
        series: {
          ...unavailable('0x10 9x5 0x90'),
          ...requests('get_batch', '0+60x10 600x5 660+60x90', '0x10 50+50x5 300x90'),
        },
        at: ALONG,
      },
      // The addresses of large result files expire during downloads.
      {
        series: {
          ...waits('transfer', '16x90'),
          'http_requests_total{operation="download",code="200"}': '0+5x90',
          'http_requests_total{operation="download",code="403"}': '0+20x90',
        },
        at: '80m',
      },
    ],
  },
  ContentReviewResultAnomalies: {
    fires: {
      series: {
        ...ended('0+100x90', '0x90'),
        'result_anomalies_total{pipeline="p",kind="unknown"}': '0+2x90',
      },
      at: '80m',
      labels: ['kind="unknown"', 'pipeline="p"'],
    },
    quiet: {
      series: {
        ...ended('0+1000x90', '0x90'),
        'result_anomalies_total{pipeline="p",kind="unknown"}': '0+2x90',
      },
      at: '80m',
    },
  },
  ContentReviewDecisionMixShift: {
    step: '10m',
    fires: [
      { series: mix(20, 50), at: '190h', labels: ['pipeline="p"', 'result="spam"'] },
      // A result disappears together with its series.
      {
        series: {
          ...mix(20, 20),
          'decision_results_total{pipeline="p",result="gone"}': '0+100x1008',
        },
        at: '190h',
        labels: ['pipeline="p"', 'result="gone"'],
      },
    ],
    quiet: { series: mix(20, 30), at: '190h' },
  },
  ContentReviewAbsent: {
    fires: { series: { up: '1x30' }, at: '12m', labels: [] },
    quiet: { series: { 'build_info{version="1",node="v26"}': '1x30' }, at: '12m' },
  },
  ContentReviewNotReady: {
    fires: [
      {
        series: { 'ready{condition="p/kafka",instance="i"}': '0x30' },
        at: '12m',
        labels: ['condition="p/kafka"', 'instance="i"'],
      },
      {
        series: {
          'ready{condition="p/kafka",instance="i"}': '1x30',
          'transactions_stuck{instance="i"}': '2x30',
        },
        at: '12m',
        labels: ['instance="i"'],
      },
      {
        series: {
          'up{job="c",instance="i"}': '1x5 0x30',
          'build_info{job="c",instance="i",version="1",node="v26"}': '1x5',
        },
        at: '20m',
        labels: ['instance="i"', 'job="c"'],
      },
    ],
    quiet: [
      { series: { 'ready{condition="p/kafka",instance="i"}': '0x8 1x30' }, at: '12m' },
      {
        series: {
          'transactions_stuck{instance="i"}': '0x30',
        },
        at: '12m',
      },
      // The target is not a connector.
      {
        series: {
          'up{job="other",instance="i"}': '0x30',
          'build_info{job="c",instance="i"}': '1x30',
        },
        at: '20m',
      },
    ],
  },
  ContentReviewKafkaCertificateExpires: {
    fires: {
      series: {
        'kafka_tls_certificate_expiry_timestamp_seconds{certificate="broker"}': '1209000x120',
      },
      at: '90m',
      labels: ['certificate="broker"'],
    },
    quiet: {
      series: {
        'kafka_tls_certificate_expiry_timestamp_seconds{certificate="broker"}': '1300000x120',
      },
      at: '90m',
    },
  },
};
