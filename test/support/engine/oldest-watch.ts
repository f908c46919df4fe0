/** Holds what an instance says of its oldest event against what the source and the outputs have, at each of its reports. */
import assert from 'node:assert/strict';
import type { SourceCoordinate, SourceRecord } from '../../../src/core/record.ts';
import { terminalCoordinate } from '../memory/checker.ts';
import { changed } from './changed.ts';
import { type Instance, TOPICS, type World, type WrapPorts } from './world.ts';

const OLDEST = 'oldest_unsettled_timestamp_seconds';

/**
 * Fails a report in which the gauge is there without a record in flight, or missing with one, or later than the oldest record that
 * was taken and has no terminal record.
 * @param told what the reports said, in order: undefined for none in flight
 */
export function watchOldest(told: (number | undefined)[] = []): WrapPorts {
  return (ports, world) => {
    const { metrics } = ports;
    const judged = (toldMs: number | undefined) => {
      const instance = world.instances.find((one) => one.metrics === metrics);
      if (instance === undefined) return;
      const inFlight = instance.gauge('items_in_flight') ?? 0;
      assert.equal(
        toldMs !== undefined,
        inFlight > 0,
        `${instance.process.name} has ${inFlight} in flight and tells ${toldMs}`,
      );
      const trueMs = oldestTakenMs(world, instance);
      assert.ok(
        (toldMs ?? Infinity) <= trueMs,
        `${instance.process.name} tells ${toldMs}, and ${trueMs} waits`,
      );
      told.push(toldMs);
    };
    return {
      ...ports,
      metrics: changed(metrics, {
        set: (name, labels, value) => {
          metrics.set(name, labels, value);
          if (name === OLDEST) judged(value && value * 1000);
        },
      }),
    };
  };
}

const isSkipped = ({ value }: SourceRecord) => String(value).includes('"skip":true');

/** Over what the instance has read: Infinity when all of it has its terminal record. */
export function oldestTakenMs({ kafka: { cluster } }: World, { pipeline }: Instance): number {
  const place = ({ partition, offset }: SourceCoordinate) => `${partition}:${offset}`;
  const settled = new Set<string>();
  for (const topic of ['decisions', 'dead'])
    for (const record of cluster.durableRecords(topic))
      settled.add(place(terminalCoordinate(record)));
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const { partition, position } of pipeline
    .view()
    .shards.flatMap(({ positions }) => positions)) {
    for (const record of cluster.log(TOPICS.source, partition).committed())
      if (record.offset < position && !settled.has(place(record)) && !isSkipped(record))
        oldestMs = Math.min(oldestMs, record.timestampMs);
  }
  return oldestMs;
}
