/**
 * The promise at every named point: a test build of the connector kills itself there, a successor takes over, and the records
 * are settled once each; the service gets nothing twice but what docs/crash-points.md says. CRASH_VISITS=<regular
 * expression> runs only the visits whose name it matches.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { type Death, faultsOf, type Rehearsal, rehearsalOf, rehearse, type Stage } from '../support/crash/rehearsal.ts';
import { nameOf, SITUATIONS, type Situation, type Submitted, VISITS } from '../support/crash/visits.ts';
import { testKafka } from '../support/kafka.ts';
import { startSandboxProcess } from '../support/stack.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const rehearsals = VISITS.map(rehearsalOf);
const wanted = new RegExp(process.env.CRASH_VISITS ?? '');

const kafka = await testKafka();
const sandbox = await startSandboxProcess(temporaryDirectory(), { faults: rehearsals.flatMap(faultsOf) });
after(() => sandbox.sandbox.stop(0));
const stage: Stage = { kafka, sandbox, compileCache: temporaryDirectory() };

describe('killed at', { concurrency: 2 }, () => {
  for (const rehearsal of rehearsals) {
    const name = nameOf(rehearsal.visit);
    if (wanted.test(name)) test(name, (t) => check(rehearsal, temporaryDirectory(), (text) => t.diagnostic(text)));
  }
});

test('docs/crash-points.md says of every point that is visited what the service gets in addition', () => {
  const page = readFileSync(new URL('../../docs/crash-points.md', import.meta.url), 'utf8');
  const said = new Map<string, string>();
  for (const [, points = '', again = ''] of page.matchAll(/^\| (`.+?) \| (.+?) \|/gm))
    for (const [, point = ''] of points.matchAll(/`(.+?)`/g)) said.set(point, again);
  const visited = new Map(VISITS.map(({ deaths, again }) => [deaths.at(-1)?.[0] as string, inWords(again)]));
  assert.deepEqual(new Map([...said].sort()), new Map([...visited].sort()));
});

async function check(rehearsal: Rehearsal, directory: string, say: (text: string) => void): Promise<void> {
  const { situation, again } = rehearsal.visit;
  const found = await rehearse(stage, directory, rehearsal);
  for (const death of found.deaths) checkDeath(death, SITUATIONS[situation]);
  found.terminal.assertOnceEach(found.events);
  for (const event of found.events) {
    const { reason, decision } = found.terminal.one(event);
    assert.equal(reason, event.metadata === undefined ? 'not_json' : undefined);
    assert.deepEqual(decision?.metadata, event.metadata);
  }
  assert.deepEqual(found.submitted, sum(SITUATIONS[situation].submitted, again), 'what the service got');
  say(`everything was settled ${Math.round(found.recoveryMs)} ms after the last death`);
}

/** That it died where it says: what the broker has tells the stages of a transaction apart. */
function checkDeath({ point, words, uncommitted }: Death, situation: Situation): void {
  const [, stage] = point.split(':');
  // Asked for again while the coordinator is busy with the transaction before.
  if (point.startsWith('claim:')) assert.equal(words.fences > 0, stage !== 'before', `${point}: ${words.fences} producers`);
  // A replica at work has transactions of its own.
  if (situation.replica !== undefined) return;
  if (stage === 'sent') assert.ok(uncommitted > 0, `${point} left no open transaction`);
  if (stage === 'begun') assert.equal(uncommitted, 0, `${point} left an open transaction`);
}

function inWords({ batches, puts, uploads, rows }: Submitted): string {
  assert.deepEqual({ uploads, rows }, { uploads: 0, rows: 0 }, 'nothing may be reviewed a second time');
  if (batches === 0) return 'nothing';
  return puts === 0 ? `${batches} empty batch` : `${batches} empty batch, ${puts} PUT that was cut`;
}

function sum(a: Submitted, b: Submitted): Submitted {
  return { batches: a.batches + b.batches, puts: a.puts + b.puts, uploads: a.uploads + b.uploads, rows: a.rows + b.rows };
}
