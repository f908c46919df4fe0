/** POST /v1/import and GET /v1/import/{import_id} (service-interface.md 4.3, 4.4). */
import { randomUUID } from 'node:crypto';
import {
  CONTENT_TYPES,
  type CreateImportResponse,
  type GetImportResponse,
  PATHS,
} from '../../service/contract.ts';
import { apiError, jsonAnswer, type Plan, Refusal } from '../http/answer.ts';
import type { Authorize } from '../http/bearer.ts';
import {
  type Exchange,
  type RouteGroup,
  requireEmptyBody,
  requireMethod,
} from '../http/exchange.ts';
import { type AddressParts, uploadAddress } from '../storage/addresses.ts';
import { IMPORTS } from '../storage/paths.ts';
import type { ImportStore } from './import-store.ts';

export interface ImportRouteParts extends AddressParts {
  readonly store: ImportStore;
  readonly authorize: Authorize;
}

/** What GET answers here: the interface shows no shape (4.4). */
type RetrievedImport = GetImportResponse & { readonly record_count: number };

const upload = { folder: IMPORTS, contentType: CONTENT_TYPES.jsonl, idName: 'import_id' };

export function importRoutes(parts: ImportRouteParts): RouteGroup {
  return {
    prefix: PATHS.imports,
    async handle(exchange) {
      parts.authorize(exchange.request);
      if (exchange.path !== PATHS.imports) {
        requireMethod(exchange, 'GET');
        return retrievePlan(exchange, parts);
      }
      requireMethod(exchange, 'POST');
      await requireEmptyBody(exchange);
      return createPlan(exchange, parts);
    },
  };
}

function createPlan({ origin }: Exchange, parts: ImportRouteParts): Plan {
  return {
    operation: 'create_import',
    type: undefined,
    async run(fault) {
      const { store, clock } = parts;
      const repeated = fault?.action === 'repeat_id' ? store.newest()?.id : undefined;
      const id = repeated ?? randomUUID();
      if (repeated === undefined) store.create(id, clock.now());
      const body: CreateImportResponse = {
        import_id: id,
        import_status: fault?.action === 'state' ? fault.state : 'WAITING_FOR_UPLOAD',
        upload_url: uploadAddress({ ...upload, id, origin }, fault, parts),
      };
      return jsonAnswer(200, body);
    },
  };
}

function retrievePlan({ path }: Exchange, { store }: ImportRouteParts): Plan {
  const id = path.slice(PATHS.imports.length + 1);
  const known = store.get(id);
  if (known === undefined)
    throw new Refusal(apiError(404, 'not_found', 'there is no import with this id'));
  return {
    operation: 'get_import',
    type: undefined,
    async run(fault) {
      const { status, records } = store.get(id) ?? known;
      const body: RetrievedImport = {
        import_id: id,
        import_status: fault?.action === 'state' ? fault.state : status,
        record_count: records,
      };
      return jsonAnswer(200, body);
    },
  };
}
