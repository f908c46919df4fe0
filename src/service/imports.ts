/** The import resource: service-interface.md 2.4, 4.3 and 4.4. */
import type { Api } from './api.ts';
import { type ImportStatus, normaliseImportStatus, PATHS } from './contract.ts';
import {
  type Fields,
  fieldsOf,
  isPathSegment,
  optionalText,
  ProtocolViolation,
  requiredAddress,
  requiredId,
  requiredStatus,
} from './contract-fields.ts';
import { IMPORT_ID_PLACEHOLDER } from './import-path.ts';
import { serviceError } from './problem.ts';

export interface CreatedImport {
  readonly importId: string;
  /** Opaque and secret (I6). */
  readonly uploadUrl: string;
}

export interface ImportView {
  readonly importId: string;
  /** undefined for a status that this version does not know. */
  readonly status: ImportStatus | undefined;
  /** As the service spelled it. */
  readonly rawStatus: string;
}

/**
 * POST /v1/import (4.3), without a body. There is no idempotency key: an unclear outcome is tried again, since an import
 * without an upload costs nothing, and told to the observer as `orphanPossible`.
 * @throws ServiceError; the signal's reason when aborted.
 */
export function createImport(api: Api, signal: AbortSignal): Promise<CreatedImport> {
  return api.call(
    {
      operation: 'create_import',
      method: 'POST',
      path: PATHS.imports,
      creates: true,
      parse: parseCreated,
    },
    signal,
  );
}

/**
 * GET of an import's status (4.4), at the path that the template gives.
 * @throws ServiceError (`not_found` for 404 and 410); the signal's reason when aborted.
 */
export async function getImport(
  api: Api,
  template: string,
  importId: string,
  signal: AbortSignal,
): Promise<ImportView> {
  const operation = 'get_import';
  if (!isPathSegment(importId)) {
    const what = 'was not called: the import id cannot stand in a path';
    throw serviceError(operation, PATHS.imports, { failure: 'rejected', what, reason: 'bad_id' });
  }
  const path = template.replaceAll(IMPORT_ID_PLACEHOLDER, () => encodeURIComponent(importId));
  return await api.call(
    { operation, method: 'GET', path, parse: (json) => parseImport(json, importId) },
    signal,
  );
}

function parseCreated(json: unknown): CreatedImport {
  const fields = importFields(json, isNamed('import_id'));
  return {
    importId: requiredId(fields, 'import_id'),
    uploadUrl: requiredAddress(fields, 'upload_url'),
  };
}

/** The answer's shape is not shown (4.4): the status may be called `status`, and all of it may be one level down. */
function parseImport(json: unknown, importId: string): ImportView {
  const fields = importFields(json, isNamed('import_status'), isKnown, isNamed('status'));
  const rawStatus = requiredStatus(
    fields,
    optionalText(fields, 'import_status') ? 'import_status' : 'status',
    'import_status',
  );
  // A cache or proxy that mixes answers up must not settle one import with the state of another.
  const id = optionalText(fields, 'import_id') ?? optionalText(fieldsOf(json), 'import_id');
  if ((id ?? importId) !== importId)
    throw new ProtocolViolation('import_id is not the one asked for');
  return { importId, status: normaliseImportStatus(rawStatus), rawStatus };
}

type Test = (candidate: Fields) => boolean;

const isNamed =
  (name: string): Test =>
  (candidate) =>
    Boolean(optionalText(candidate, name));

/** An envelope has a status of its own (`success`); that of the import is one of the documented ones. */
const isKnown: Test = (candidate) =>
  normaliseImportStatus(optionalText(candidate, 'status') ?? '') !== undefined;

/** The object that passes the first test that any passes: the answer itself, or the only one inside it that does. */
function importFields(json: unknown, ...tests: readonly Test[]): Fields {
  const fields = fieldsOf(json);
  const inner = Object.values(fields)
    .flatMap((value) => (Array.isArray(value) && value.length === 1 ? value : [value]))
    .filter(
      (value): value is Fields =>
        typeof value === 'object' && value !== null && !Array.isArray(value),
    );
  for (const test of tests) {
    if (test(fields)) return fields;
    const passing = inner.filter(test);
    if (passing.length > 0)
      return passing.length === 1 && passing[0] !== undefined ? passing[0] : fields;
  }
  return fields;
}
