/** Figures of an evaluation, compared with counting pair by pair. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ClassName, ConfusionMatrix } from '../../../src/tools/evaluate/confusion-matrix.ts';

const name = fc.constantFrom<ClassName>('spam', 'ham', '__proto__', 'constructor', '', null);
const pairs = fc.array(fc.tuple(name, name), { maxLength: 80 });

const matrixOf = (all: readonly (readonly [ClassName, ClassName])[]) => {
  const matrix = new ConfusionMatrix();
  for (const [expected, result] of all)
    matrix.add(expected, result, expected !== null && expected === result);
  return matrix.figures();
};

test('the figures of each class are those that counting gives', () => {
  fc.assert(
    fc.property(pairs, (all) => {
      const { evaluated, agreeing, agreement, classes, matrix } = matrixOf(all);
      const count = (holds: (expected: ClassName, result: ClassName) => boolean) =>
        all.filter(([expected, result]) => holds(expected, result)).length;
      assert.equal(evaluated, all.length);
      assert.equal(
        matrix.reduce((sum, cell) => sum + cell.count, 0),
        evaluated,
      );
      for (const cell of matrix)
        assert.equal(
          cell.count,
          count((expected, result) => expected === cell.expected && result === cell.result),
        );
      assert.equal(
        new Set(matrix.map((cell) => `${cell.expected} ${cell.result}`)).size,
        matrix.length,
      );
      assert.equal(
        agreeing,
        count((expected, result) => expected !== null && expected === result),
      );
      assert.equal(agreement, evaluated === 0 ? null : agreeing / evaluated);
      assert.deepEqual(new Set(classes.map((one) => one.name)), new Set(all.flat()));
      for (const one of classes) {
        const hits = count((expected, result) => expected === one.name && result === one.name);
        const support = count((expected) => expected === one.name);
        const decided = count((_, result) => result === one.name);
        assert.deepEqual([one.support, one.decided], [support, decided]);
        if (one.name === null) {
          assert.deepEqual([one.precision, one.recall, one.f1], [null, null, null]);
          continue;
        }
        const precision = decided === 0 ? null : hits / decided;
        const recall = support === 0 ? null : hits / support;
        assert.deepEqual([one.precision, one.recall], [precision, recall]);
        // The harmonic mean, where both are defined and one is not 0.
        if (precision !== null && recall !== null && precision + recall > 0)
          assert.ok(
            Math.abs((one.f1 ?? 2) - (2 * precision * recall) / (precision + recall)) < 1e-12,
          );
        else assert.equal(one.f1, 0);
      }
    }),
  );
});
