/** Cuts a history down while the same rule stays broken: what is left is the story. */
import { type PlayOptions, play } from '../history.ts';
import type { Event, Script } from '../script.ts';

export interface Shrunk {
  readonly script: Script;
  /** Histories that were played to get there. */
  readonly plays: number;
}

/** @param script one that breaks a rule, with its strikes listed (as a HistoryReport has it) */
export async function shrink(
  script: Script,
  options: PlayOptions = {},
  maxPlays = 600,
): Promise<Shrunk> {
  let plays = 0;
  const ruleOf = async (one: Script) => {
    plays++;
    return (await play(one, options)).violation?.rule;
  };
  const rule = await ruleOf(script);
  if (rule === undefined) throw new Error(`history ${script.seed} breaks no rule`);
  let best = script;
  const attempt = async (one: Script): Promise<boolean> => {
    if (plays >= maxPlays || (await ruleOf(one)) !== rule) return false;
    best = one;
    return true;
  };
  for (let before: Script | undefined; before !== best && plays < maxPlays; ) {
    before = best;
    await cut(
      () => best.strikes ?? [],
      (strikes) => attempt({ ...best, strikes }),
    );
    await cut(
      () => best.events,
      (events) => attempt({ ...best, events }),
    );
    for (const [index, event] of best.events.entries()) {
      for (const smaller of smallerEvents(event)) {
        if (await attempt({ ...best, events: best.events.with(index, smaller) })) break;
      }
    }
    for (const shape of simplerShapes(best))
      if (!isSame(shape, best.shape)) await attempt({ ...best, shape });
    const endMs = best.events.at(-1)?.atMs ?? 0;
    if (endMs < best.untilMs) await attempt({ ...best, untilMs: endMs });
  }
  return { script: best, plays };
}

/** Takes parts out of a list, large ones first, as long as `attempt` agrees. */
async function cut<T>(
  list: () => readonly T[],
  attempt: (rest: readonly T[]) => Promise<boolean>,
): Promise<void> {
  for (let size = list().length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = list().length - size; at >= 0; at -= size)
      await attempt(list().toSpliced(at, size));
  }
}

function smallerEvents(event: Event): Event[] {
  if (event.do === 'produce' && event.count > 1) {
    return [1, Math.floor(event.count / 2), event.count - 1]
      .filter((count) => count > 0)
      .map((count) => ({ ...event, count }));
  }
  return [];
}

function simplerShapes({ shape }: Script): Script['shape'][] {
  const { maxReviewTimeMs: _, ...unlimited } = shape;
  return [
    { ...shape, kind: 'review' },
    unlimited,
    { ...shape, rejectedToDeadLetters: false },
    { ...shape, maxInFlight: 200_000 },
    { ...shape, budgetBytes: 1_000_000 },
    { ...shape, shards: 1 },
    { ...shape, instances: 1 },
    { ...shape, latencyMs: 0 },
  ];
}

const isSame = (a: object, b: object) => JSON.stringify(a) === JSON.stringify(b);
