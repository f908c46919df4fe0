import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { anyCharacter } from '../../../../../test/support/any-character.ts';
import {
  BATCH_STATUSES,
  DECISION_STATUSES,
  IMPORT_STATUSES,
  normaliseBatchStatus,
  normaliseDecisionStatus,
  normaliseImportStatus,
  PATHS,
} from '../../../src/service/contract.ts';

test('every documented status normalises to itself', () => {
  for (const status of BATCH_STATUSES) assert.equal(normaliseBatchStatus(status), status);
  for (const status of IMPORT_STATUSES) assert.equal(normaliseImportStatus(status), status);
  for (const status of DECISION_STATUSES) assert.equal(normaliseDecisionStatus(status), status);
});

test('the spelling WATING_FOR_UPLOAD means WAITING_FOR_UPLOAD', () => {
  assert.equal(normaliseBatchStatus('WATING_FOR_UPLOAD'), 'WAITING_FOR_UPLOAD');
  assert.equal(normaliseImportStatus('WATING_FOR_UPLOAD'), 'WAITING_FOR_UPLOAD');
});

test('an unknown status is undefined, never an error', () => {
  const unknown = fc
    .string()
    .filter((text) => !/^(WAT|WAI|PEND|SUCC|CANC|ERR|IN_|COMP|FAIL)/.test(text));
  fc.assert(
    fc.property(unknown, (text) => {
      assert.equal(normaliseBatchStatus(text), undefined);
      assert.equal(normaliseImportStatus(text), undefined);
      assert.equal(normaliseDecisionStatus(text), undefined);
    }),
  );
  for (const inherited of ['constructor', 'length', '0', '__proto__'])
    assert.equal(normaliseBatchStatus(inherited), undefined);
});

test('an id in a path is one segment that decodes to the id', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1 }), (id) => {
      const segment = PATHS.batch(id).slice('/v1/batches/'.length);
      assert.match(segment, /^[^/?#]+$/);
      assert.equal(decodeURIComponent(segment), id);
    }),
  );
});
