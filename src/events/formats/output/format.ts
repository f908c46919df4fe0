/** How terminal records are written when it is not the JSON that the kinds render. */
import type { OutgoingRecord } from '../../../core/record.ts';
import type { RegistryFormatName } from './contract.ts';

export const OUTPUT_FORMATS = ['json', 'json-schema', 'avro', 'protobuf', 'cloudevents'] as const;
export type OutputFormatName = (typeof OUTPUT_FORMATS)[number];

export interface OutputFormat {
  readonly name: RegistryFormatName | 'cloudevents';
  /** @param record as a kind renders it: its key stays as it is. @throws Error when its value is no terminal record */
  encode(record: OutgoingRecord): OutgoingRecord;
}
