/** Faults of logins whose sessions end (KIP-368). */
import { eventually } from '../../../../support/eventually.ts';
import type { World } from '../../world.ts';
import type { Nemesis } from '../nemesis.ts';

/** Share of a session for which the token endpoint fails. Tokens have the lifetime of a session. */
const OUTAGE = 2 / 3;

/** These faults run only if there are logins. */
const loginsOf = ({ logins }: World) => logins as NonNullable<World['logins']>;

/** Returns true once all replicas have joined the newest generation of each group. */
function isJoined({ fleet, pipelines }: World): boolean {
  const joins = fleet.logged('joined the group');
  return pipelines.every(({ pipeline: { name } }) => {
    const own = joins.flatMap(({ pipeline, generation }) =>
      pipeline === name ? [Number(generation)] : [],
    );
    return own.filter((one) => one === Math.max(...own)).length === fleet.running.length;
  });
}

/** Waits until every session has ended once. Fails if a member had to join its group again. */
export const sessionsEnd: Nemesis = async (world) => {
  const { tokens, sessionMs } = loginsOf(world);
  await eventually('every replica is in its groups', () => isJoined(world));
  const joins = () => world.fleet.logged('joined the group').length;
  const [joined, requested] = [joins(), tokens.requests.length];
  await world.sleep(sessionMs);
  const again = joins() - joined;
  if (again > 0) throw new Error(`members joined their groups again (${again} times)`);
  const renewed = tokens.requests.length - requested;
  return { hit: world.inFlight && renewed > 0, note: `${renewed} new tokens` };
};

/** Fails requests for tokens until sessions have ended. */
export const noTokens: Nemesis = async (world) => {
  const { tokens, sessionMs } = loginsOf(world);
  const { answer } = tokens;
  let refused = 0;
  tokens.answer = () => {
    refused++;
    return { status: 503, body: '' };
  };
  await world.sleep(OUTAGE * sessionMs).finally(() => {
    tokens.answer = answer;
  });
  return { hit: world.inFlight && refused > 0, note: `${refused} requests refused` };
};
