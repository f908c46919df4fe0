/** Everything behind the sandbox's server, on one data directory. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { batchRoutes } from './batches/batch-routes.ts';
import { BatchStore } from './batches/batch-store.ts';
import { reviewWork } from './batches/review-work.ts';
import { controlRoutes } from './control-routes.ts';
import { Database } from './database.ts';
import { decisionRoutes } from './decisions/decision-routes.ts';
import { DecisionStore } from './decisions/decision-store.ts';
import { Decisions } from './decisions/decisions.ts';
import { type MadeDecision, makeDecisions } from './decisions/made-decisions.ts';
import type { FaultScript } from './faults/script.ts';
import { type ApiKeys, bearerAuth } from './http/bearer.ts';
import type { RouteGroup } from './http/exchange.ts';
import type { Surroundings } from './http/send.ts';
import { importRoutes } from './imports/import-routes.ts';
import { ImportStore } from './imports/import-store.ts';
import { ingestWork } from './imports/ingest-work.ts';
import type { Policy } from './policy/schema.ts';
import { ObjectStore } from './storage/object-store.ts';
import { type Folder, IMPORTS, RESULTS, UPLOADS } from './storage/paths.ts';
import { storageRoutes } from './storage/storage-routes.ts';
import { Lifecycle } from './work/lifecycle.ts';

export interface PartsOptions extends Surroundings {
  readonly dataDir: string;
  readonly policy: Policy;
  readonly faults: FaultScript;
  readonly apiKeys: ApiKeys;
  readonly onError: (error: unknown) => void;
}

export interface SandboxParts {
  readonly batches: BatchStore;
  readonly imports: ImportStore;
  makeDecisions(list: readonly MadeDecision[]): string[];
  readonly routes: readonly RouteGroup[];
  /** Takes up what an earlier process left unfinished. */
  resume(): void;
  /** Call when no request is being handled any more. */
  close(): Promise<void>;
}

/** @throws Error when the data directory is in use. */
export function sandboxParts(options: PartsOptions): SandboxParts {
  const { dataDir, policy, faults, apiKeys, onError, clock, closing } = options;
  const database = new Database(join(dataDir, 'sandbox.sqlite'));
  const objects = ({ name }: Folder) => new ObjectStore(join(dataDir, name));
  const batches = new BatchStore(database);
  const imports = new ImportStore(database);
  const decisionStore = new DecisionStore(database);
  const uploads = objects(UPLOADS);
  const results = objects(RESULTS);
  const importFiles = objects(IMPORTS);
  // Kept with the data: addresses handed out before a restart stay good.
  const secret = database.setting('signing-secret', () => randomBytes(32).toString('base64url'));
  const authorize = bearerAuth(apiKeys);

  const lifecycleParts = {
    faults,
    clock,
    onError,
    storageEventDelayMs: policy.timing.storageEventDelayMs,
  };
  const reviews = new Lifecycle(
    reviewWork({ store: batches, uploads, results, policy, onError }),
    lifecycleParts,
  );
  const ingestions = new Lifecycle(
    ingestWork({ store: imports, uploads: importFiles, policy, onError }),
    lifecycleParts,
  );
  const inboxes = [
    {
      folder: UPLOADS,
      operation: 'upload',
      objects: uploads,
      find: (id: string) => batches.get(id),
      uploaded: reviews.uploaded.bind(reviews),
    },
    {
      folder: IMPORTS,
      operation: 'upload_import',
      objects: importFiles,
      find: (id: string) => imports.get(id),
      uploaded: ingestions.uploaded.bind(ingestions),
    },
  ] as const;

  const decisions = new Decisions({
    store: decisionStore,
    batches,
    uploads,
    policy,
    clock,
    closing,
  });
  const make = (list: readonly MadeDecision[]) =>
    makeDecisions(list, { store: decisionStore, policy, clock });
  const api = { policy, clock, authorize, secret };
  const { maxUploadBytes } = policy.storage;
  return {
    batches,
    imports,
    makeDecisions: make,
    routes: [
      batchRoutes({ ...api, store: batches, uploads }),
      importRoutes({ ...api, store: imports }),
      decisionRoutes({ decisions, authorize }),
      storageRoutes({ clock, closing, inboxes, store: batches, results, secret, maxUploadBytes }),
      controlRoutes({
        batches,
        imports,
        importFiles,
        decisions,
        makeDecisions: make,
        faults,
        apiKeys,
        authorize,
      }),
    ],
    resume() {
      reviews.resume();
      ingestions.resume();
    },
    async close() {
      await Promise.all([reviews.stop(), ingestions.stop()]);
      database.close();
    },
  };
}
