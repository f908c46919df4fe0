/** GET /v1/decisions/{decision_id} (service-interface.md 4.5). */
import { type GetDecisionResponse, PATHS } from '../../service/contract.ts';
import { apiError, jsonAnswer, type Plan, Refusal } from '../http/answer.ts';
import type { Authorize } from '../http/bearer.ts';
import { type RouteGroup, requireMethod } from '../http/exchange.ts';
import type { Decisions } from './decisions.ts';

const PREFIX = PATHS.decision('').slice(0, -1);

export interface DecisionRouteParts {
  readonly decisions: Decisions;
  readonly authorize: Authorize;
}

export function decisionRoutes({ decisions, authorize }: DecisionRouteParts): RouteGroup {
  return {
    prefix: PREFIX,
    async handle(exchange) {
      authorize(exchange.request);
      requireMethod(exchange, 'GET');
      return retrievePlan(idIn(exchange.path), decisions);
    },
  };
}

async function retrievePlan(id: string, decisions: Decisions): Promise<Plan> {
  const known = await decisions.get(id);
  if (known === undefined) throw notFound();
  return {
    operation: 'get_decision',
    type: known.type,
    async run(fault) {
      const { metadata, result, labels, status } = (await decisions.get(id)) ?? known;
      const shown = fault?.action === 'state' ? fault.state : status;
      const isMade = shown === 'SUCCESS';
      const body: GetDecisionResponse = {
        decision_id: id,
        decision_status: shown,
        metadata,
        result: isMade ? result : null,
        labels: isMade ? labels : null,
      };
      return jsonAnswer(200, body);
    },
  };
}

function idIn(path: string): string {
  try {
    return decodeURIComponent(path.slice(PREFIX.length + 1));
  } catch {
    throw notFound();
  }
}

function notFound(): Refusal {
  return new Refusal(apiError(404, 'not_found', 'there is no decision with this id'));
}
