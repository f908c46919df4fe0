/** All successors of a state: steps of two instances, the group, the service, Kafka's transactions, crashes and late messages. */
import { claimSteps } from './claim-steps.ts';
import { commandSteps, controlSteps } from './control-steps.ts';
import type { Model, Visit } from './model.ts';
import { ownerSteps } from './owner-steps.ts';
import type { State } from './state.ts';
import { transactionSteps } from './transaction-steps.ts';
import { instanceSteps, worldSteps } from './world-steps.ts';

export function expand(model: Model, state: State, visit: Visit): void {
  model.begin(state, visit);
  worldSteps(model);
  commandSteps(model);
  for (const i of [0, 1]) {
    instanceSteps(model, i);
    claimSteps(model, i);
    transactionSteps(model, i);
    ownerSteps(model, i);
    controlSteps(model, i);
  }
}
