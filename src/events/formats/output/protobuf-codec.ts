import protobuf from 'protobufjs';
import { protobufForm } from '../../../contracts/encodable.ts';
import { readMessageIndexes, writeMessageIndexes } from '../../registry/index.ts';
import type { Codec } from './codec.ts';

/** @param schema text of one of contracts/protobuf: its first message is the record. A status that it does not know is not set. */
export function protobufCodec(schema: string): Codec {
  const { root, package: space = '' } = protobuf.parse(schema, { keepCase: true });
  const [message] =
    root.lookup(space) instanceof protobuf.Namespace
      ? (root.lookup(space) as protobuf.Namespace).nestedArray
      : [];
  if (!(message instanceof protobuf.Type)) throw new Error('the Protobuf file has no message');
  const prefix = writeMessageIndexes([0]);
  return {
    recordName: message.fullName.replace(/^\./, ''),
    encode: (json) =>
      Buffer.concat([prefix, message.encode(message.fromObject(protobufForm(json))).finish()]),
    decode(payload) {
      const path = readMessageIndexes(payload, 0);
      if (path?.indexes.join() !== '0') throw new Error('the payload is of another message');
      const decoded = message.toObject(message.decode(payload.subarray(path.end)), {
        enums: String,
        defaults: true,
      });
      return { ...decoded, status: String(decoded.status).replace(/^STATUS_/, '') };
    },
  };
}
