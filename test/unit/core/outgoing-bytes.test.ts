import assert from 'node:assert/strict';
import { it } from 'node:test';
import { recordBytes } from '../../../src/core/outgoing-bytes.ts';
import { headerList } from '../../support/headers.ts';

it('the size of a record counts bytes and not characters, and headers too, whatever their names', () => {
  const plain = recordBytes({ key: 'k', value: 'ä'.repeat(100) });
  assert.ok(plain >= 201);
  const many = recordBytes({
    key: null,
    value: null,
    headers: headerList({ h: [Buffer.alloc(1_000), 'x'.repeat(1_000)], none: null, toString: 'x'.repeat(1_000) }),
  });
  assert.ok(many >= 3_000 && many <= 3_200, `${many} bytes`);
});
