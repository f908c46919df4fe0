/**
 * The promise at every named point: a test build of the connector kills itself there, a successor takes over, and the records
 * are settled once each; the service gets nothing twice but what docs/crash-points.md says. CRASH_VISITS=<regular
 * expression> runs only the visits whose name it matches.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import {
  type Death,
  faultsOf,
  type Rehearsal,
  rehearsalOf,
  rehearse,
  type Stage,
} from '../support/crash/rehearsal.ts';
import {
  nameOf,
  SITUATIONS,
  type Situation,
  type Submitted,
  submittedBy,
  VISITS,
  type Visit,
} from '../support/crash/visits.ts';
import { testKafka } from '../support/kafka/kafka.ts';
import { startSandboxProcess } from '../support/stack/stack.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const rehearsals = VISITS.map(rehearsalOf);
const wanted = new RegExp(process.env.CRASH_VISITS ?? '');

const kafka = await testKafka();
const reviews = rehearsals.filter(({ visit }) => visit.kind === 'review');
const sandbox = await startSandboxProcess(temporaryDirectory(), {
  faults: reviews.flatMap(faultsOf),
});
after(() => sandbox.sandbox.stop(0));
const stage: Stage = { kafka, sandbox, compileCache: temporaryDirectory() };

describe('killed at', { concurrency: 2 }, () => {
  for (const rehearsal of rehearsals) {
    const name = nameOf(rehearsal.visit);
    if (wanted.test(name))
      test(name, (t) => check(rehearsal, temporaryDirectory(), (text) => t.diagnostic(text)));
  }
});

test('docs/crash-points.md says of every point that is visited what the service gets in addition', () => {
  const page = readFileSync(new URL('../../docs/crash-points.md', import.meta.url), 'utf8');
  const said = new Map<string, string>();
  for (const [, points = '', again = ''] of page.matchAll(/^\| (`.+?) \| (.+?) \|/gm))
    for (const [, point = ''] of points.matchAll(/`(.+?)`/g)) said.set(point, again);
  const visited = new Map(
    reviews.map(({ visit }) => [visit.deaths.at(-1)?.[0] as string, inWords(visit.again)]),
  );
  assert.deepEqual(new Map([...said].sort()), new Map([...visited].sort()));
});

test('docs/crash-points.md says what the visits of imports and lookups leave behind', () => {
  const page = readFileSync(new URL('../../docs/crash-points.md', import.meta.url), 'utf8');
  const said = [...page.matchAll(/^\| (import|lookup) \| (.+?) \| (.+?) \|/gm)].map(
    ([, kind, points, again]) => [kind, points, again],
  );
  const visited = rehearsals
    .filter(({ visit }) => visit.kind !== 'review')
    .map(({ visit: { kind, deaths, again } }) => [
      kind,
      deaths.map(([point]) => `\`${point}\``).join(', '),
      inWords(again, kind),
    ]);
  assert.deepEqual(said, visited);
});

/** Imports have no type by which those of several visits could be told apart. */
async function checkOther(rehearsal: Rehearsal, say: (text: string) => void): Promise<void> {
  const own = await startSandboxProcess(temporaryDirectory(), { faults: faultsOf(rehearsal) });
  try {
    const found = await rehearse({ ...stage, sandbox: own }, temporaryDirectory(), rehearsal);
    for (const death of found.deaths) checkDeath(death, SITUATIONS[rehearsal.visit.situation]);
    assert.deepEqual(found.complaints, []);
    assert.deepEqual(found.submitted, submittedBy(rehearsal.visit), 'what the service got');
    say(`everything was settled ${Math.round(found.recoveryMs)} ms after the last death`);
  } finally {
    await own.sandbox.stop(0);
  }
}

async function check(
  rehearsal: Rehearsal,
  directory: string,
  say: (text: string) => void,
): Promise<void> {
  if (rehearsal.visit.kind !== 'review') return checkOther(rehearsal, say);
  const found = await rehearse(stage, directory, rehearsal);
  for (const death of found.deaths) checkDeath(death, SITUATIONS[rehearsal.visit.situation]);
  found.terminal.assertOnceEach(found.events);
  for (const event of found.events) {
    const { reason, decision } = found.terminal.one(event);
    assert.equal(reason, event.metadata === undefined ? 'not_json' : undefined);
    assert.deepEqual(decision?.metadata, event.metadata);
  }
  assert.deepEqual(found.complaints, []);
  assert.deepEqual(found.submitted, submittedBy(rehearsal.visit), 'what the service got');
  say(`everything was settled ${Math.round(found.recoveryMs)} ms after the last death`);
}

/** That it died where it says: what the broker has tells the stages of a transaction apart. */
function checkDeath({ point, words, uncommitted }: Death, situation: Situation): void {
  const [, stage] = point.split(':');
  // Asked for again while the coordinator is busy with the transaction before.
  if (point.startsWith('claim:'))
    assert.equal(words.fences > 0, stage !== 'before', `${point}: ${words.fences} producers`);
  // A replica at work has transactions of its own.
  if (situation.replica !== undefined) return;
  if (stage === 'sent') assert.ok(uncommitted > 0, `${point} left no open transaction`);
  if (stage === 'begun') assert.equal(uncommitted, 0, `${point} left an open transaction`);
}

function inWords(
  { batches, puts, uploads, rows }: Submitted,
  kind: Visit['kind'] = 'review',
): string {
  assert.deepEqual(
    { uploads, rows },
    { uploads: 0, rows: 0 },
    'nothing may be reviewed or imported a second time',
  );
  if (batches === 0) return 'nothing';
  const empty = `${batches} empty ${kind === 'review' ? 'batch' : 'imports'}`;
  return puts === 0 ? empty : `${empty}, ${puts} PUT that was cut`;
}
