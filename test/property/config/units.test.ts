import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { OptionRefusal } from '../../../src/config/option.ts';
import {
  formatBytes,
  formatDuration,
  parseBytes,
  parseDuration,
} from '../../../src/config/units.ts';

const DURATIONS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZES = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 };
const amount = fc.integer({ min: 0, max: 1_000_000 });

describe('values with units', () => {
  it('are the amount times the unit', () => {
    fc.assert(
      fc.property(amount, fc.constantFrom(...Object.entries(DURATIONS)), (count, [unit, ms]) => {
        assert.equal(parseDuration(`${count}${unit}`), count * ms);
        assert.equal(parseDuration(` ${count} ${unit} `), count * ms);
      }),
    );
    fc.assert(
      fc.property(amount, fc.constantFrom(...Object.entries(SIZES)), (count, [unit, bytes]) => {
        assert.equal(parseBytes(`${count}${unit}`), count * bytes);
      }),
    );
  });

  it('survive formatting and parsing', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 10_000_000 }),
        fc.constantFrom(1, ...Object.values(DURATIONS), ...Object.values(SIZES)),
        (count, factor) => {
          const value = count * factor;
          fc.pre(value < 1e15);
          assert.equal(parseDuration(formatDuration(value)), value);
          assert.equal(parseBytes(formatBytes(value)), value);
        },
      ),
    );
  });

  it('are refused without a unit, with a hint that shows one', () => {
    fc.assert(
      fc.property(amount, fc.boolean(), (count, asText) => {
        for (const [parse, unit] of [
          [parseDuration, 's'],
          [parseBytes, 'MiB'],
        ] as const) {
          const message = new RegExp(`${count}${unit}`);
          assert.throws(() => parse(asText ? String(count) : count), {
            name: 'OptionRefusal',
            message,
          });
        }
      }),
    );
  });

  it('parse to an integer of at least 0, or are refused, for any string', () => {
    const anything = fc.oneof(
      fc.anything(),
      fc.string(),
      fc.stringMatching(/^-?[0-9.]{0,25}[a-zA-Z]{0,9}$/),
    );
    fc.assert(
      fc.property(anything, (raw) => {
        for (const parse of [parseDuration, parseBytes]) {
          try {
            const result = parse(raw);
            assert.ok(Number.isSafeInteger(result) && result >= 0);
          } catch (error) {
            assert.ok(error instanceof OptionRefusal);
          }
        }
      }),
    );
  });
});
