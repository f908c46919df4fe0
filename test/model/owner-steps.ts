/** Steps of an owner: transactions, intake, uploads, retries, decisions (src/pipeline). */
import { beginsJobs, takesIn } from './control-steps.ts';
import { count, instanceName, type Model, subsets } from './model.ts';
import { UNDECODABLE } from './rules.ts';
import * as s from './state.ts';

export function ownerSteps(model: Model, i: number): void {
  const { now, rules } = model;
  const mode = now.of(i, s.MODE);
  if (mode === s.ZOMBIE) zombieSteps(model, i);
  if (mode !== s.OWNER) return;
  if (!rules.seeksAtJoin && model.isAssigned(i) && now.of(i, s.BELIEVES) === 1) {
    model.rejoin(model.next(), i);
    model.emit(
      false,
      () =>
        `${instanceName(i)}: rejoins and keeps the shard; kafkajs restarts at the committed offset`,
    );
  }
  const busy = now.of(i, s.TRANSACTION) !== s.NO_TRANSACTION;
  if (takesIn(model, i)) intakeSteps(model, i);
  if (rules.rewinds === 'apart') rewindSteps(model, i);
  for (let c = 0; c < now.slots; c++) {
    if (now.isFree(c)) continue;
    uploadSteps(model, i, c);
    giveUpSteps(model, i, c);
    if (busy) continue;
    retrySteps(model, i, c);
    settleSteps(model, i, c);
  }
  if (busy) return;
  if (beginsJobs(model, i)) sealSteps(model, i);
  deadLetterSteps(model, i);
}

function zombieSteps(model: Model, i: number): void {
  const { now } = model;
  const name = instanceName(i);
  for (let c = 0; c < now.slots; c++) {
    if (now.batch(c, s.phase(i)) !== s.IN_JOURNAL) continue;
    const next = model.next();
    next.setBatch(c, s.UPLOADING, 1);
    next.setBatch(c, s.phase(i), 0);
    model.emit(false, () => `${name} (fenced): PUTs ${model.show(now.batch(c, s.ITEMS))}`);
  }
  model.lose(i);
  model.emit(true, () => `${name}: a transaction is rejected, fenced`);
}

/** Reads the next record of each partition. */
function intakeSteps(model: Model, i: number): void {
  const { now, rules, scenario, progress } = model;
  scenario.partitions.forEach((offsets, partition) => {
    const position = now.of(i, s.POSITION + partition);
    const index = offsets[position];
    if (index === undefined) return;
    const record = 1 << index;
    const next = model.next();
    next.setOf(i, s.POSITION + partition, position + 1);
    let what = 'passes';
    if (rules.rewinds === 'shared' && (now.of(i, s.WANTED) & record) !== 0) {
      next.setOf(i, s.WANTED, now.of(i, s.WANTED) & ~record);
      next.setOf(i, s.FOUND, now.of(i, s.FOUND) | record);
      what = 'keeps it for the retry';
    } else {
      const known =
        progress.isClaimed(now.progress(s.memoryProgress(i)), index) ||
        (rules.intakeKnowsWhatItTook && (inHand(model, i) & record) !== 0);
      if (!known) {
        const field = model.record(index).type === UNDECODABLE ? s.UNDECODED : s.BUFFERED;
        next.setOf(i, field, now.of(i, field) | record);
        what = 'buffers it';
      }
    }
    model.emit(model.isAssigned(i), () => `${instanceName(i)}: reads record ${index + 1}, ${what}`);
  });
}

/** Records that were read but not committed yet. */
function inHand(model: Model, i: number): number {
  const { now } = model;
  let mask = now.of(i, s.BUFFERED) | now.of(i, s.UNDECODED);
  if (now.of(i, s.TRANSACTION) !== s.JOB) return mask;
  for (let c = 0; c < now.slots; c++)
    if (now.batch(c, s.role(i)) === s.NEW_RECORD) mask |= now.batch(c, s.writtenLeft(i));
  return mask;
}

/** Steps of the separate reader of retries, which finds the wanted records in any order. */
function rewindSteps(model: Model, i: number): void {
  const { now, scenario } = model;
  const wanted = now.of(i, s.WANTED);
  for (let index = 0; index < scenario.records.length; index++) {
    const record = 1 << index;
    if ((wanted & record) === 0) continue;
    const next = model.next();
    next.setOf(i, s.WANTED, wanted & ~record);
    next.setOf(i, s.FOUND, now.of(i, s.FOUND) | record);
    model.emit(
      model.isAssigned(i),
      () => `${instanceName(i)}: reads record ${index + 1} again for the retry`,
    );
  }
}

function uploadSteps(model: Model, i: number, c: number): void {
  const { now, rules } = model;
  const phase = now.batch(c, s.phase(i));
  const tooEarly =
    !rules.journalsBeforeUpload && phase === s.CREATED && now.batch(c, s.UPLOADING) === 0;
  if (phase !== s.IN_JOURNAL && !tooEarly) return;
  const next = model.next();
  next.setBatch(c, s.UPLOADING, 1);
  if (phase === s.IN_JOURNAL) next.setBatch(c, s.phase(i), s.TRACKED);
  if (now.batch(c, s.JOURNALED) === 0)
    model.violation = 'I4: upload without a committed job record';
  model.emit(
    model.isAssigned(i),
    () => `${instanceName(i)}: PUTs ${model.show(now.batch(c, s.ITEMS))}`,
  );
}

/** Abandons a job that will not end by itself, so that its records are reread. */
function giveUpSteps(model: Model, i: number, c: number): void {
  const { now, rules } = model;
  const remote = now.batch(c, s.REMOTE);
  const left = now.batch(c, s.left(i));
  const stuck = remote === s.WAITING && rules.abandonsStuckUploads;
  const rowsMissing = remote === s.SUCCESS && (left & now.batch(c, s.ROWS)) === 0;
  if (now.batch(c, s.phase(i)) !== s.TRACKED || !(stuck || remote === s.ERROR || rowsMissing))
    return;
  const next = model.next();
  next.setBatch(c, s.phase(i), s.RETRYING);
  next.setOf(i, s.WANTED, now.of(i, s.WANTED) | left);
  if (rules.rewinds === 'shared') {
    model.scenario.records.forEach(({ partition, offset }, index) => {
      const field = s.POSITION + partition;
      if ((left >> index) & 1) next.setOf(i, field, Math.min(next.of(i, field), offset));
    });
  }
  // The upload may still arrive, so the job is abandoned too early. The grace period makes this case rare.
  const early = remote === s.WAITING && now.batch(c, s.UPLOADING) === 1;
  const what =
    remote === s.WAITING ? 'abandons' : remote === s.ERROR ? 'sees ERROR of' : 'misses rows of';
  model.emit(
    model.isAssigned(i) && !early,
    () => `${instanceName(i)}: ${what} ${model.show(now.batch(c, s.ITEMS))}, rewinds`,
  );
}

/** Reread records move to a new job, in any number of parts, or are settled one at a time. */
function retrySteps(model: Model, i: number, c: number): void {
  const { now, rules, scenario } = model;
  if (now.batch(c, s.phase(i)) !== s.RETRYING) return;
  const mine = model.isAssigned(i);
  const left = now.batch(c, s.left(i));
  const found = now.of(i, s.FOUND) & left;
  const free = now.freeSlot();
  for (const part of free === -1 || !beginsJobs(model, i) ? [] : subsets(found)) {
    if (count(part) > scenario.maxRows) continue;
    const next = model.next();
    create(next, i, free, part);
    next.setOf(i, s.FOUND, now.of(i, s.FOUND) & ~part);
    next.setOf(i, s.TRANSACTION, s.MOVE);
    if (rules.movesAtOnce) writeLeft(next, i, c, left & ~part);
    model.emit(
      mine,
      () => `${instanceName(i)}: POSTs a retry, txn moves ${model.show(part)} to it`,
    );
  }
  for (let index = 0; index < scenario.records.length; index++) {
    const record = 1 << index;
    if ((found & record) === 0) continue;
    const next = model.next();
    next.setOf(i, s.TRANSACTION, s.SETTLE);
    next.setOf(i, s.OUTPUTS, record);
    writeLeft(next, i, c, left & ~record);
    model.emit(
      mine,
      () => `${instanceName(i)}: txn: terminal ERROR for ${model.show(record)}, job shrinks`,
    );
  }
}

/** Settles a chunk of decisions: any subset of the remaining rows. */
function settleSteps(model: Model, i: number, c: number): void {
  const { now, rules, scenario } = model;
  if (now.batch(c, s.phase(i)) !== s.TRACKED || now.batch(c, s.REMOTE) !== s.SUCCESS) return;
  const left = now.batch(c, s.left(i));
  for (const chunk of subsets(now.batch(c, s.ROWS))) {
    if (count(chunk) > scenario.maxChunk || (chunk & left) === 0) continue;
    if (rules.dropsSettledRows && (chunk & ~left) !== 0) continue;
    const rest = left & ~chunk;
    const next = model.next();
    next.setOf(i, s.TRANSACTION, s.SETTLE);
    next.setOf(i, s.OUTPUTS, chunk);
    writeLeft(
      next,
      i,
      c,
      rules.chunksShrinkJob ? rest : rest === 0 ? 0 : now.batch(c, s.JOURNAL_LEFT),
    );
    const job = rules.chunksShrinkJob ? 'shrinks' : rest === 0 ? 'tombstoned' : 'untouched';
    model.emit(
      model.isAssigned(i),
      () => `${instanceName(i)}: txn: decisions ${model.show(chunk)}, job record ${job}`,
    );
  }
}

/** Seals a batch of one type from the buffer: POST, and the start of its transaction. */
function sealSteps(model: Model, i: number): void {
  const { now, scenario } = model;
  const free = now.freeSlot();
  if (free === -1) return;
  const buffered = now.of(i, s.BUFFERED);
  for (const type of [0, 1]) {
    let ofType = 0;
    for (let index = 0; index < scenario.records.length; index++)
      if ((buffered >> index) & 1 && model.record(index).type === type) ofType |= 1 << index;
    for (const batch of subsets(ofType)) {
      if (count(batch) > scenario.maxRows) continue;
      const next = model.next();
      create(next, i, free, batch);
      next.setProgress(s.writtenProgress(i), progressAfter(model, i, batch));
      next.setOf(i, s.BUFFERED, buffered & ~batch);
      next.setOf(i, s.TRANSACTION, s.JOB);
      model.emit(
        model.isAssigned(i),
        () =>
          `${instanceName(i)}: seals, POSTs, txn: job ${model.show(batch)} + progress + offsets`,
      );
    }
  }
}

function deadLetterSteps(model: Model, i: number): void {
  const { now, rules, scenario } = model;
  const due = now.of(i, s.UNDECODED) | (rules.deadLettersRefusedTypes ? now.of(i, s.BUFFERED) : 0);
  for (let index = 0; index < scenario.records.length; index++) {
    const record = 1 << index;
    if ((due & record) === 0) continue;
    const next = model.next();
    next.setOf(i, s.TRANSACTION, s.DEAD_LETTER);
    next.setOf(i, s.OUTPUTS, record);
    next.setProgress(s.writtenProgress(i), progressAfter(model, i, record));
    model.emit(
      model.isAssigned(i),
      () => `${instanceName(i)}: txn: dead letter ${model.show(record)} + progress + offsets`,
    );
  }
}

/** Returns the progress that includes the newly assigned records `taken`. */
function progressAfter({ now }: Model, i: number, taken: number): number {
  return now.progress(s.memoryProgress(i)) | taken;
}

function create(next: s.State, i: number, slot: number, items: number): void {
  next.setBatch(slot, s.ITEMS, items);
  next.setBatch(slot, s.REMOTE, s.WAITING);
  next.setBatch(slot, s.phase(i), s.CREATED);
  next.setBatch(slot, s.role(i), s.NEW_RECORD);
  next.setBatch(slot, s.writtenLeft(i), items);
}

function writeLeft(next: s.State, i: number, slot: number, left: number): void {
  next.setBatch(slot, s.role(i), s.CHANGED_RECORD);
  next.setBatch(slot, s.writtenLeft(i), left);
}
