/** Parts of the demo's input and output. */
import type { Email } from '../../../dev/demo/corpus.ts';
import type { Outcome } from '../../../dev/demo/judge.ts';

export function email(group: string): Email {
  return {
    id: '007',
    group,
    checksum: { type: 'MD5', value: '0' },
    text: 'From: "A" <a@example.com>\nSubject: hello\n\nbody',
  };
}

export function source(topic: string, partition: number, offset: number): Outcome['source'] {
  return { topic, partition, offset, timestamp: '2026-01-01T00:00:00.000Z' };
}
