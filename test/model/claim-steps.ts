/** Steps of a claim: fence, owner record, replay of the journal to the barrier (src/pipeline/shard/claim.ts). */
import { commandInJournal } from './control-steps.ts';
import { instanceName, type Model } from './model.ts';
import * as s from './state.ts';

export function claimSteps(model: Model, i: number): void {
  const { now, rules } = model;
  const name = instanceName(i);
  const mine = model.isAssigned(i);
  switch (now.of(i, s.MODE)) {
    case s.IDLE: {
      if (now.of(i, s.BELIEVES) === 0) return;
      const next = model.next();
      model.clearTransaction(next, i);
      if (rules.barrier) {
        next.set(s.FENCED_BY, i + 1);
        next.setOf(i, s.MODE, s.CLAIMING);
        model.emit(mine, () => `${name}: InitProducerId (fences)`);
      } else {
        takeView(model, next, i, now.progress(s.JOURNAL_PROGRESS));
        next.setOf(i, s.MODE, s.REPLAYED);
        model.emit(mine, () => `${name}: replays the journal to its visible end`);
      }
      return;
    }
    case s.REPLAYED: {
      const next = model.next();
      next.set(s.FENCED_BY, i + 1);
      next.setOf(i, s.MODE, s.OWNER);
      model.emit(mine, () => `${name}: InitProducerId (fences), owns`);
      return;
    }
    case s.CLAIMING: {
      if (!model.isNewest(i)) {
        model.lose(i);
        model.emit(true, () => `${name}: fenced while claiming`);
        return;
      }
      const claimed = model.next();
      claimed.setOf(i, s.MODE, s.REPLAY);
      // The replay will end at the owner record that is committed here, so the claim reads the newest command before
      // that record. Like any owner, the instance reads later commands once it owns the shard.
      if (rules.claimReadsCommand) claimed.setOf(i, s.KNOWN, commandInJournal(model));
      model.emit(mine, () => `${name}: commits its owner record`);
      model.lose(i);
      model.emit(false, () => `${name}: owner transaction: unknown outcome`);
      return;
    }
    case s.REPLAY:
      if (rules.barrierByContent && now.get(s.FENCED_BY) !== i + 1) return;
      replaySteps(model, i);
  }
}

function replaySteps(model: Model, i: number): void {
  const { now, rules, progress } = model;
  const name = instanceName(i);
  const mine = model.isAssigned(i);
  const next = model.next();
  if (now.get(s.RESET_STATE) === s.RESET_PENDING && model.isNewest(i)) takeReset(model, next);
  const journal = next.progress(s.JOURNAL_PROGRESS);
  takeView(model, next, i, journal);
  next.setOf(i, s.MODE, s.OWNER);
  model.emit(mine, () => `${name}: replay reaches the barrier, owns`);
  if (!rules.believesStaleOffsets) return;
  const earlier = progress.withoutClaims(now.progress(s.EARLIER_PROGRESS));
  if (earlier === progress.withoutClaims(journal)) return;
  const stale = model.next();
  takeView(model, stale, i, earlier);
  stale.setOf(i, s.MODE, s.OWNER);
  model.emit(false, () => `${name}: reads a stale committed offset, mistakes it for a reset, owns`);
}

/**
 * Applies the operator's reset to the progress and to the set of settled records, so that records are
 * reviewed again or skipped.
 */
function takeReset(model: Model, next: s.State): void {
  const { now, rules, scenario, progress } = model;
  const partition = now.get(s.RESET_PARTITION);
  const to = now.get(s.RESET_OFFSET);
  const journal = now.progress(s.JOURNAL_PROGRESS);
  let live = 0;
  for (let c = 0; c < now.slots; c++) live |= now.batch(c, s.JOURNAL_LEFT);
  let again = 0;
  let skipped = 0;
  scenario.records.forEach((record, index) => {
    if (record.partition !== partition) return;
    if (record.offset >= to && ((live >> index) & 1) === 0) again |= 1 << index;
    if (record.offset < to && !progress.isClaimed(journal, index)) skipped |= 1 << index;
  });
  next.set(s.SETTLED, (now.get(s.SETTLED) & ~again) | skipped);
  const watermark = (of: number) => (of === partition ? to : progress.watermark(journal, of));
  next.setProgress(
    s.JOURNAL_PROGRESS,
    rules.reset === 'keeps-live-jobs'
      ? (journal & ~again) | skipped
      : progress.upTo(watermark(0), watermark(1)),
  );
  next.set(s.RESET_STATE, s.RESET_DONE);
  next.set(s.RESET_PARTITION, 0);
  next.set(s.RESET_OFFSET, 0);
}

/** Fills the memory of a new owner from the journal's jobs and progress. */
function takeView(model: Model, next: s.State, i: number, journal: number): void {
  const { rules, scenario, progress } = model;
  const known = rules.honoursProgress ? journal : progress.withoutClaims(journal);
  for (const field of [s.BUFFERED, s.UNDECODED, s.WANTED, s.FOUND]) next.setOf(i, field, 0);
  next.setProgress(s.memoryProgress(i), known);
  scenario.partitions.forEach((_, partition) => {
    next.setOf(i, s.POSITION + partition, progress.watermark(known, partition));
  });
  for (let c = 0; c < next.slots; c++) {
    const left = next.batch(c, s.JOURNAL_LEFT);
    next.setBatch(c, s.left(i), left);
    next.setBatch(c, s.phase(i), left === 0 ? 0 : s.TRACKED);
  }
}
