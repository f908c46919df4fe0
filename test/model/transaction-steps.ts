/** Outcomes of the transaction that an owner waits for (src/pipeline/context/transaction-queue.ts). */
import { instanceName, type Model } from './model.ts';
import * as s from './state.ts';

export function transactionSteps(model: Model, i: number): void {
  const { now } = model;
  const name = instanceName(i);
  const mode = now.of(i, s.MODE);
  const waits = now.of(i, s.TRANSACTION) !== s.NO_TRANSACTION && now.of(i, s.DETACHED) === 0;
  if (!waits || (mode !== s.OWNER && mode !== s.PAUSED) || !model.isNewest(i)) return;
  const committed = model.next();
  model.commit(committed, i);
  believeCommit(model, committed, i);
  model.emit(true, () => `${name}: commit acknowledged`);

  const lost = model.next();
  model.commit(lost, i);
  model.clearTransaction(lost, i);
  model.forget(lost, i, s.LOST);
  model.emit(false, () => `${name}: committed, response lost: unknown outcome`);
  model.lose(i);
  model.emit(false, () => `${name}: transaction aborts`);
  model.lose(i, { commitInNetwork: true });
  model.emit(false, () => `${name}: stops waiting, its EndTxn still in the network`);
  if (!model.rules.retriesBlindly) return;
  const blind = model.next();
  model.commit(blind, i);
  model.clearTransaction(blind, i);
  model.emit(false, () => `${name}: committed, response lost; keeps its old view and continues`);
}

/** Updates the owner's memory to the committed state. */
function believeCommit(model: Model, next: s.State, i: number): void {
  const transaction = next.of(i, s.TRANSACTION);
  const outputs = next.of(i, s.OUTPUTS);
  if (transaction === s.JOB || transaction === s.DEAD_LETTER)
    next.setProgress(s.memoryProgress(i), next.progress(s.writtenProgress(i)));
  if (transaction === s.DEAD_LETTER) {
    for (const field of [s.UNDECODED, s.BUFFERED])
      next.setOf(i, field, next.of(i, field) & ~outputs);
  }
  if (transaction === s.SETTLE) next.setOf(i, s.FOUND, next.of(i, s.FOUND) & ~outputs);
  for (let c = 0; c < next.slots; c++) {
    const role = next.batch(c, s.role(i));
    if (role === s.NEW_RECORD) {
      next.setBatch(c, s.left(i), next.batch(c, s.writtenLeft(i)));
      next.setBatch(c, s.phase(i), s.IN_JOURNAL);
    } else if (role === s.CHANGED_RECORD) {
      // The memory may differ from the journal, which without `chunksShrinkJob` has more remaining records.
      const left =
        transaction === s.SETTLE
          ? next.batch(c, s.left(i)) & ~outputs
          : next.batch(c, s.writtenLeft(i));
      next.setBatch(c, s.left(i), left);
      if (left === 0) next.setBatch(c, s.phase(i), 0);
    }
  }
  model.clearTransaction(next, i);
}
