/**
 * Terminal records as CloudEvents 1.0 over Kafka (kafka-protocol-binding). Their `id` is the event
 * id, so that `source` and `id` together are as CloudEvents demands: the same for one event over
 * every retry and restart, and for no other.
 */
import { parseJson } from '../../../base/json/parse-json.ts';
import type { OutgoingRecord, RecordHeaders } from '../../../core/record.ts';
import type { OutputContract } from './contract.ts';
import type { OutputFormat } from './with-output-format.ts';

interface CloudEventsOptions {
  readonly contract: OutputContract;
  readonly mode: 'binary' | 'structured';
  /** A URI-reference to the producer of the event. */
  readonly source: string;
}

const TYPES: Readonly<Record<OutputContract, string>> = {
  decision: 'content-review.decision.v1',
  receipt: 'content-review.receipt.v1',
  'looked-up-decision': 'content-review.lookup.v1',
};

/** Members that all contracts have. */
interface TerminalIdentity {
  readonly id: string;
  readonly source: Readonly<Record<string, unknown>>;
  readonly decided_at: string;
}

export function cloudEventsOutput({ contract, mode, source }: CloudEventsOptions): OutputFormat {
  const dataschema = `urn:content-review-connector:${contract}:v1`;
  const common = { specversion: '1.0', source, type: TYPES[contract] };
  return {
    name: 'cloudevents',
    encode(record) {
      const json = String(record.value);
      const { id, source: from, decided_at: time } = parseJson(json) as TerminalIdentity;
      const subject = `${from.topic}/${from.partition}/${from.offset}`;
      const attributes = { ...common, dataschema, id, subject, time };
      const datacontenttype = 'application/json';
      if (mode === 'binary') {
        const named = Object.entries(attributes).map(
          ([name, value]) => [`ce_${name}`, value] as const,
        );
        return withHeaders(record, [...named, ['content-type', datacontenttype]]);
      }
      // The JSON is put in as it is: its numbers keep their digits.
      const envelope = JSON.stringify({ ...attributes, datacontenttype }).slice(0, -1);
      const value = Buffer.from(`${envelope},"data":${json}}`);
      const contentType = 'application/cloudevents+json; charset=UTF-8';
      return withHeaders({ ...record, value }, [['content-type', contentType]]);
    },
  };
}

/** Headers of CloudEvents itself; extensions, such as ce_traceparent, travel on. */
const OWN_HEADERS =
  /^(?:content-type|ce_(?:specversion|id|source|type|subject|time|dataschema|datacontenttype|data|data_base64))$/i;

/** The source record's own attributes would contradict these, in whatever case they are written. */
function withHeaders(record: OutgoingRecord, own: RecordHeaders): OutgoingRecord {
  const travelling = (record.headers ?? []).filter(([name]) => !OWN_HEADERS.test(name));
  return { ...record, headers: [...travelling, ...own] };
}
