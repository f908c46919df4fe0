/** Steps of the instances' environment: group, operator, service, network, crashes, deliveries. */
import { instanceName, type Model } from './model.ts';
import * as s from './state.ts';

export function worldSteps(model: Model): void {
  groupSteps(model);
  operatorSteps(model);
  for (let c = 0; c < model.now.slots; c++) {
    // Free slots come last. If two batches are equal, only one is expanded.
    if (model.now.isFree(c) || (c > 0 && model.now.sameSlots(c - 1, c))) continue;
    networkSteps(model, c);
    serviceSteps(model, c);
  }
}

/** Changes the assignment, at any time: by a session timeout, a rebalance, or the removal of a restarted member. */
function groupSteps(model: Model): void {
  const other = 1 - model.now.get(s.ASSIGNED);
  model.next().set(s.ASSIGNED, other);
  model.emit(false, () => `group: gives the shard to ${instanceName(other)}`);
}

/** Resets the group. Kafka's tool resets only an empty group. */
function operatorSteps(model: Model): void {
  const { now, rules, scenario, progress } = model;
  if (rules.reset === 'none' || now.get(s.RESET_STATE) !== s.NO_RESET) return;
  if (now.of(0, s.MODE) !== s.DOWN || now.of(1, s.MODE) !== s.DOWN) return;
  scenario.partitions.forEach((offsets, partition) => {
    for (let offset = 0; offset <= offsets.length; offset++) {
      if (offset === progress.watermark(now.progress(s.JOURNAL_PROGRESS), partition)) continue;
      const next = model.next();
      next.set(s.RESET_STATE, s.RESET_PENDING);
      next.set(s.RESET_PARTITION, partition);
      next.set(s.RESET_OFFSET, offset);
      model.emit(false, () => `operator: resets the group to offset ${offset}`);
    }
  });
}

function networkSteps(model: Model, c: number): void {
  const { now } = model;
  if (now.batch(c, s.UPLOADING) === 0) return;
  const items = () => model.show(now.batch(c, s.ITEMS));
  const arrived = model.next();
  arrived.setBatch(c, s.UPLOADING, 0);
  if (now.batch(c, s.REMOTE) === s.WAITING) arrived.setBatch(c, s.REMOTE, s.PENDING);
  model.emit(true, () => `remote: upload of ${items()} arrives`);
  model.next().setBatch(c, s.UPLOADING, 0);
  model.emit(false, () => `network: upload of ${items()} is lost`);
}

/** Ends a review with any subset of its rows, or as failed. */
function serviceSteps(model: Model, c: number): void {
  const { now } = model;
  if (now.batch(c, s.REMOTE) !== s.PENDING) return;
  const items = now.batch(c, s.ITEMS);
  for (let rows = items; ; rows = (rows - 1) & items) {
    const next = model.next();
    next.setBatch(c, s.REMOTE, s.SUCCESS);
    next.setBatch(c, s.ROWS, rows);
    model.emit(
      rows === items,
      () => `remote: ${model.show(items)} SUCCESS with rows ${model.show(rows)}`,
    );
    if (rows === 0) break;
  }
  model.next().setBatch(c, s.REMOTE, s.ERROR);
  model.emit(false, () => `remote: ${model.show(items)} ERROR`);
}

/** Crashes, late commits, and messages from the group to the instance. */
export function instanceSteps(model: Model, i: number): void {
  const { now } = model;
  const name = instanceName(i);
  const mode = now.of(i, s.MODE);
  if (mode === s.DOWN) {
    model.next().setOf(i, s.MODE, s.IDLE);
    model.emit(true, () => `${name}: restarts`);
  } else {
    const next = model.next();
    if (now.of(i, s.TRANSACTION) !== s.NO_TRANSACTION) next.setOf(i, s.DETACHED, 1);
    model.forget(next, i, s.DOWN);
    model.emit(false, () => `${name}: kill -9`);
  }
  if (now.of(i, s.DETACHED) === 1 && model.isNewest(i)) lateCommitSteps(model, i);
  if (mode !== s.DOWN) membershipSteps(model, i);
}

function lateCommitSteps(model: Model, i: number): void {
  const name = instanceName(i);
  const applied = model.next();
  model.commit(applied, i);
  model.clearTransaction(applied, i);
  model.emit(false, () => `kafka: ${name}'s late commit is applied`);
  model.clearTransaction(model.next(), i);
  model.emit(false, () => `kafka: ${name}'s open transaction aborts`);
}

/**
 * Messages from the group, which arrive late. An instance that lost the shard needs such a message before it
 * claims again.
 */
function membershipSteps(model: Model, i: number): void {
  const { now, rules } = model;
  const name = instanceName(i);
  const mode = now.of(i, s.MODE);
  const mine = model.isAssigned(i);
  const waits = now.of(i, s.TRANSACTION) !== s.NO_TRANSACTION && now.of(i, s.DETACHED) === 0;
  if (now.of(i, s.BELIEVES) !== Number(mine) || mode === s.LOST) {
    const next = model.next();
    next.setOf(i, s.BELIEVES, Number(mine));
    if (mine) {
      if (mode === s.LOST) next.setOf(i, s.MODE, s.IDLE);
      if (mode === s.PAUSED) {
        next.setOf(i, s.MODE, s.OWNER);
        model.rejoin(next, i);
      }
      model.emit(
        true,
        () => `${name}: joins, has the shard${mode === s.PAUSED ? ' again, keeps its state' : ''}`,
      );
    } else {
      if (mode === s.OWNER && rules.keepsStateWithoutShard) next.setOf(i, s.MODE, s.PAUSED);
      else if (mode !== s.PAUSED) {
        if (now.of(i, s.TRANSACTION) !== s.NO_TRANSACTION) next.setOf(i, s.DETACHED, 1);
        model.forget(next, i, s.IDLE);
      }
      model.emit(true, () => `${name}: joins, does not have the shard`);
    }
  }
  if (mode === s.PAUSED && !waits) {
    model.forget(model.next(), i, s.IDLE);
    model.emit(true, () => `${name}: drops the state it kept`);
  }
}
