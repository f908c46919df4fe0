/** Sends of whole batches through kafkajs, which hands them on as they are (kafkajs-produce-fixes.ts). */
import type { Message, Producer } from 'kafkajs';
import { toOffset } from '../records/decode-batch.ts';
import type { OutgoingBatch } from './outgoing-batch.ts';

/** Carries a batch through kafkajs, which requires only that a message has a value. */
export interface BatchMessage extends Message {
  readonly value: null;
  readonly batch: OutgoingBatch;
}

/**
 * Sends a batch, tries again as the options of the producer tell, and releases it in the end.
 * @returns the offset of its first record
 * @throws what kafkajs throws; whether the batch was appended is unknown then
 */
export async function sendBatch(
  to: Pick<Producer, 'send'>,
  topic: string,
  batch: OutgoingBatch,
): Promise<number> {
  const message: BatchMessage = { value: null, batch };
  let answered = false;
  try {
    const [answer] = await to.send({ topic, acks: -1, messages: [message] });
    if (answer?.baseOffset === undefined)
      throw new Error(`the broker named no offset for partition ${batch.partition} of ${topic}`);
    answered = true;
    return toOffset(answer.baseOffset);
  } finally {
    batch.release(answered);
  }
}
