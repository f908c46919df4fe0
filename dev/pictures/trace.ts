/** Trace of a batch: its span and steps as bars, from the spans that the connector exported. */
import { fixed, picture, text } from './draw.ts';

/** Members of a span in OTLP/JSON. */
export interface Span {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: Readonly<Record<string, unknown>>;
  }[];
  readonly events?: readonly {
    readonly timeUnixNano: string;
    readonly name: string;
    readonly attributes?: Span['attributes'];
  }[];
}

const WIDTH = 880;
const LEFT = 196;
const RIGHT = 780;
const TOP = 66;
const ROW = 34;
const STEPS = ['create', 'upload', 'download', 'send'];

/** `send` for a write to any topic. */
const stepName = ({ name }: Span): string => name.replace(/ .*/, '');

/** Bytes of the request body of an OTLP exporter. */
export function spansOf(body: string): Span[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: { scopeSpans: { spans: Span[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

const attribute = ({ attributes }: Pick<Span, 'attributes'>, key: string): string => {
  const value = attributes.find((one) => one.key === key)?.value ?? {};
  return String(Object.values(value)[0] ?? '');
};

const duration = (length: number): string =>
  length >= 10_000
    ? `${(length / 1_000).toFixed(1)} s`
    : `${length.toFixed(length < 10 ? 1 : 0)} ms`;

const ms = (nano: string): number => Number(BigInt(nano) / 1_000n) / 1_000;

/** Chooses the median, by length, of the settled review batches whose steps are all there. @returns the batch, and its steps in order */
export function chooseBatch(spans: readonly Span[]): readonly [Span, readonly Span[]] | undefined {
  const batches = spans
    .filter((span) => attribute(span, 'content_review.outcome') === 'settled')
    .filter((span) => attribute(span, 'content_review.pipeline') === 'review')
    .map((batch) => {
      const steps = spans
        .filter(({ parentSpanId }) => parentSpanId === batch.spanId)
        .sort((a, b) => ms(a.startTimeUnixNano) - ms(b.startTimeUnixNano));
      return [batch, steps] as const;
    })
    .filter(([, steps]) => STEPS.every((step) => steps.some((span) => stepName(span) === step)));
  const length = ([batch]: readonly [Span, unknown]) =>
    ms(batch.endTimeUnixNano) - ms(batch.startTimeUnixNano);
  return batches.sort((a, b) => length(a) - length(b))[Math.floor(batches.length / 2)];
}

export function tracePicture([batch, steps]: readonly [Span, readonly Span[]]): string {
  const startMs = ms(batch.startTimeUnixNano);
  const totalMs = ms(batch.endTimeUnixNano) - startMs;
  const x = (atMs: number) => LEFT + ((atMs - startMs) / totalMs) * (RIGHT - LEFT);
  const rows = [batch, ...steps];
  const events = (batch.events ?? []).filter(
    ({ name }) => name === 'journaled' || name === 'state',
  );
  const height = TOP + rows.length * ROW + 24 + events.length * 18 + 16;
  const bars = rows.flatMap((span, at) => {
    const [from, to] = [x(ms(span.startTimeUnixNano)), x(ms(span.endTimeUnixNano))];
    const y = TOP + at * ROW;
    const colour = at === 0 ? 'ink' : stepName(span) === 'send' ? 'kafka' : 'service';
    const length = ms(span.endTimeUnixNano) - ms(span.startTimeUnixNano);
    return [
      text(at === 0 ? 20 : 36, y + 15, at === 0 ? span.name : stepName(span), at === 0 ? 'b' : ''),
      `<rect x="${fixed(from)}" y="${y + 3}" width="${fixed(Math.max(2, to - from))}" height="16" rx="3" fill="var(--${colour})" opacity="${at === 0 ? 0.75 : 0.9}"/>`,
      text(
        Math.max(to, from + 2) + 6,
        y + 15,
        `${length.toFixed(length < 10 ? 1 : 0)} ms`,
        's t-muted',
      ),
    ];
  });
  const bottom = TOP + rows.length * ROW;
  const marks = events.flatMap(({ name, timeUnixNano, attributes = [] }, at) => {
    const state = attribute({ attributes }, 'content_review.state');
    const label = state === '' ? name : `${name}: ${state}`;
    const at0 = x(ms(timeUnixNano));
    const y = bottom + 20 + at * 18;
    const left = at0 > (LEFT + RIGHT) / 2;
    return [
      `<path d="M${fixed(at0)} ${TOP - 4}V${y - 4}" stroke="var(--warn)" stroke-dasharray="2 3"/>`,
      `<circle cx="${fixed(at0)}" cy="${y - 4}" r="3" fill="var(--warn)"/>`,
      text(
        at0 + (left ? -8 : 8),
        y,
        `${label} after ${duration(ms(timeUnixNano) - startMs)}`,
        left ? 's e h' : 's h',
      ),
    ];
  });
  const size = `${attribute(batch, 'content_review.rows')} rows, ${Math.round(Number(attribute(batch, 'content_review.bytes')) / 1_024)} KiB, attempt ${attribute(batch, 'content_review.attempt')}`;
  const steplist = steps.map(
    (span) =>
      `${stepName(span)} ${duration(ms(span.endTimeUnixNano) - ms(span.startTimeUnixNano))}`,
  );
  return picture(
    'trace',
    {
      title: 'Trace of a batch',
      description: `Spans of one batch of the demo (${size}) as bars over ${duration(totalMs)}: ${steplist.join(', ')}. Between upload and download the service reviews; dotted lines mark the events: journaled, and each state of the batch.`,
    },
    WIDTH,
    height,
    [
      text(20, 34, 'One batch of the demo', 'b'),
      text(WIDTH - 20, 34, size, 's e t-muted'),
      `<path d="M${LEFT} ${TOP - 10}H${RIGHT}" stroke="var(--faint)"/>`,
      ...marks,
      ...bars,
    ],
  );
}
