/** Decoders of all formats as in a pipeline, but without a broker. */
import type { SourceRecord } from '../../../src/core/record.ts';
import { avroFormat } from '../../../src/events/formats/avro-format.ts';
import { protobufFormat } from '../../../src/events/formats/protobuf-format.ts';
import { ConfluentRegistry } from '../../../src/events/registry/index.ts';
import { createDecoder, DEFAULT_MAPPING } from '../../../src/kinds/review/decode.ts';
import { fakeRegistry, registrySettings } from '../stack/registry.ts';
import { avroEvent, COSTLY_AVRO, COSTLY_PROTOBUF, protobufEvent } from './binary-shapes.ts';
import { COSTLY_MAPPING } from './json-shapes.ts';

export type CostlyFormat = 'json' | 'expressions' | 'avro' | 'protobuf';

interface CostlyDecoder {
  /** Decodes a value. @returns `item`, the reason of the dead letter, or the reason for skipping */
  decode(value: Buffer): string;
  /** Memory that is reserved for decoding the value, without the record itself, bytes. */
  reserved(value: Buffer): number;
}

const recordOf = (value: Buffer): SourceRecord => ({
  ...{ partition: 0, offset: 0, timestampMs: 0, key: null, headers: [] },
  value,
});

/** Creates the decoders after loading the schemas of the registry formats. */
export async function costlyDecoders(): Promise<Readonly<Record<CostlyFormat, CostlyDecoder>>> {
  await using server = await fakeRegistry({
    '/schemas/ids/1': { schema: COSTLY_AVRO },
    '/schemas/ids/2': { schema: COSTLY_PROTOBUF, schemaType: 'PROTOBUF' },
  });
  const registry = new ConfluentRegistry(registrySettings([server.url]));
  const [avro, protobuf] = [avroFormat(registry), protobufFormat(registry)];
  const { signal } = new AbortController();
  await avro.prepare?.([recordOf(avroEvent({}))], signal);
  await protobuf.prepare?.([recordOf(protobufEvent())], signal);
  await registry.close();
  const all = { ...DEFAULT_MAPPING, metadata: '@' };
  return {
    json: decoderOf(DEFAULT_MAPPING),
    expressions: decoderOf({ ...DEFAULT_MAPPING, ...COSTLY_MAPPING }),
    avro: decoderOf({ ...all, format: avro }),
    protobuf: decoderOf({ ...all, format: protobuf }),
  };
}

function decoderOf(mapping: typeof DEFAULT_MAPPING): CostlyDecoder {
  const { decode, decodeCost } = createDecoder(mapping);
  return {
    decode(value) {
      const decoded = decode(recordOf(value), 0);
      if ('item' in decoded) return 'item';
      return 'poison' in decoded ? decoded.poison.reason : decoded.skip;
    },
    reserved: (value) => decodeCost(recordOf(value)),
  };
}
