/** Values with the id of a registered schema in front. The id is learnt once, at the start: while running, nothing is asked. */
import type { OutgoingRecord } from '../../../core/record.ts';
import { writeFrame } from '../../registry/index.ts';
import type { ContractCodec } from './codec.ts';
import { codecOf } from './codecs.ts';
import type { OutputContract, RegistryFormatName } from './contract.ts';
import type { OutputFormat } from './format.ts';
import { type SubjectChoice, subjectOf } from './subject.ts';

export interface RegisteredFormatOptions {
  readonly contract: OutputContract;
  readonly format: RegistryFormatName;
  /** The output topic. */
  readonly topic: string;
  readonly subject: SubjectChoice;
}

export class RegisteredFormat implements OutputFormat {
  readonly name: RegistryFormatName;
  readonly codec: ContractCodec;
  readonly subject: string;
  #id: number | undefined;

  constructor({ contract, format, topic, subject }: RegisteredFormatOptions) {
    this.name = format;
    this.codec = codecOf(contract, format);
    this.subject = subjectOf(subject, topic, this.codec.recordName);
  }

  /** @param id of the schema, under the subject */
  writeWith(id: number): void {
    this.#id = id;
  }

  /** @throws Error before `writeWith` too */
  encode(record: OutgoingRecord): OutgoingRecord {
    if (this.#id === undefined)
      throw new Error(`the schema of subject ${this.subject} has not been looked up`);
    return { ...record, value: writeFrame(this.#id, this.codec.encode(String(record.value))) };
  }
}
