/**
 * Terminal records as CloudEvents 1.0 over Kafka (kafka-protocol-binding). Their `id` is the event id, so that `source` and `id`
 * together are what CloudEvents wants them to be: the same for one event over every retry and restart, and for no other.
 */
import type { OutgoingRecord, RecordHeaders } from '../../../core/record.ts';
import type { OutputContract } from './contract.ts';
import type { OutputFormat } from './format.ts';

export const CLOUDEVENTS_MODES = ['binary', 'structured'] as const;
export type CloudEventsMode = (typeof CLOUDEVENTS_MODES)[number];

export interface CloudEventsOptions {
  readonly contract: OutputContract;
  readonly mode: CloudEventsMode;
  /** A URI-reference: who says it. */
  readonly source: string;
}

const TYPES: Readonly<Record<OutputContract, string>> = {
  decision: 'content-review.decision.v1',
  receipt: 'content-review.receipt.v1',
  'looked-up-decision': 'content-review.lookup.v1',
};

export function cloudEventsOutput({ contract, mode, source }: CloudEventsOptions): OutputFormat {
  const common = {
    specversion: '1.0',
    source,
    type: TYPES[contract],
    datacontenttype: 'application/json',
  };
  const dataschema = `urn:content-review-connector:${contract}:v1`;
  const attributesOf = (json: string): Readonly<Record<string, string>> => {
    const { id, source: from, decided_at: time } = JSON.parse(json) as About;
    return {
      ...common,
      dataschema,
      id,
      subject: `${from.topic}/${from.partition}/${from.offset}`,
      time,
    };
  };
  return {
    name: 'cloudevents',
    encode: (record) =>
      (mode === 'binary' ? binary : structured)(record, attributesOf(String(record.value))),
  };
}

/** What all contracts have. */
interface About {
  readonly id: string;
  readonly source: { readonly topic: string; readonly partition: number; readonly offset: number };
  readonly decided_at: string;
}

function binary(
  record: OutgoingRecord,
  attributes: Readonly<Record<string, string>>,
): OutgoingRecord {
  const { datacontenttype = '', ...others } = attributes;
  const named = Object.entries(others).map(([name, value]) => [`ce_${name}`, value] as const);
  return {
    ...record,
    headers: withHeaders(record.headers, [...named, ['content-type', datacontenttype]]),
  };
}

/** The JSON is put in as it is: its numbers keep their digits. */
function structured(
  record: OutgoingRecord,
  attributes: Readonly<Record<string, string>>,
): OutgoingRecord {
  return {
    ...record,
    value: Buffer.from(
      `${JSON.stringify(attributes).slice(0, -1)},"data":${String(record.value)}}`,
    ),
    headers: withHeaders(record.headers, [
      ['content-type', 'application/cloudevents+json; charset=UTF-8'],
    ]),
  };
}

/** Headers of the source record give way, however they are spelt: its own CloudEvent's attributes say nothing about this one. */
function withHeaders(headers: RecordHeaders = [], own: RecordHeaders): RecordHeaders {
  const taken = new Set(own.map(([name]) => name));
  return [
    ...headers.filter(([name]) => !taken.has(name.toLowerCase()) && !isAttribute(name)),
    ...own,
  ];
}

/** Attributes that CloudEvents itself defines; extensions, such as ce_traceparent, travel on. */
const isAttribute = (header: string): boolean =>
  /^ce_(specversion|id|source|type|subject|time|dataschema|datacontenttype|data|data_base64)$/i.test(
    header,
  );
