import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bodyOf } from '../../../../src/app/tools/sample.ts';
import { importKind } from '../../../../src/kinds/import/index.ts';
import { sourceRecord } from '../../../unit/kinds/review/sample.ts';
import { decimals } from '../review/decimals.ts';
import { hostileText, metadataText } from '../review/hostile.ts';

const unused = (): never => assert.fail('the service must not be called');
const kind = importKind(
  {
    topic: 't',
    type: { field: 'type' },
    data: 'data',
    headers: [],
    nullValues: 'skip',
    maxLineBytes: 1_000_000,
  },
  { createImport: unused, getImport: unused, upload: unused },
);

test('a file has an equivalent line for each record, for any type and data', async () => {
  const event = fc.record({ type: hostileText.filter((text) => text !== ''), data: metadataText });
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 8 }), async (events) => {
      const items = events.map(({ type, data }) => {
        const decoded = kind.decode(
          sourceRecord(`{"type":${JSON.stringify(type)},"data":${data}}`),
          0,
        );
        return 'item' in decoded ? decoded.item : assert.fail(JSON.stringify(decoded));
      });
      const { body, rows } = await bodyOf(kind, items);
      const lines = String(body).split('\n');
      assert.deepEqual([lines.pop(), lines.length, rows], ['', events.length, events.length]);
      for (const [index, { type, data }] of events.entries()) {
        const line = lines[index] as string;
        assert.deepEqual(Object.keys(JSON.parse(line)), ['type', 'data']);
        assert.deepEqual(
          decimals(line),
          decimals(`{"type":${JSON.stringify(type)},"data":${data}}`),
        );
      }
    }),
  );
});

test('any bytes become a line or a dead letter', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.uint8Array({ maxLength: 200 }),
        fc.json().map((text) => Buffer.from(text)),
      ),
      async (bytes) => {
        const decoded = kind.decode(sourceRecord(Buffer.from(bytes)), 0);
        if (!('item' in decoded)) {
          assert.ok('poison' in decoded);
          return;
        }
        const { body } = await bodyOf(kind, [decoded.item]);
        assert.deepEqual(Object.keys(JSON.parse(String(body))), ['type', 'data']);
      },
    ),
  );
});
