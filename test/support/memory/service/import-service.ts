/** Imports at the service in memory: batches without result files. Each instance has its own. */

import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import type { CreatedImport, ImportView } from '../../../../packages/client/src/service/answers.ts';
import type { RemoteState } from '../../../../src/core/outcome/follow-policy.ts';
import type { ImportService } from '../../../../src/kinds/service-ports.ts';
import type { ReviewService, ServiceRow } from './review-service.ts';
import type { ServiceCalls } from './service-calls.ts';

const RAW: Readonly<Record<RemoteState, string>> = {
  waiting_for_upload: 'WAITING_FOR_UPLOAD',
  pending: 'IN_PROGRESS',
  finished: 'COMPLETE',
  failed: 'FAILED',
  cancelled: 'FAILED',
  unknown: 'QUEUED',
  missing: '',
};

interface Options {
  readonly signal: AbortSignal;
}

export class MemoryImports implements ImportService {
  readonly #service: ReviewService;
  readonly #calls: ServiceCalls;

  constructor(service: ReviewService, calls: ServiceCalls) {
    this.#service = service;
    this.#calls = calls;
  }

  createImport({ signal }: Options): Promise<CreatedImport> {
    return this.#calls.call('create', signal, undefined, 'import', () => {
      const { id } = this.#service.create('import');
      return { importId: id, uploadUrl: `memory://upload/${id}?signature=secret` };
    });
  }

  getImport(importId: string, { signal }: Options): Promise<Pick<ImportView, 'rawStatus'>> {
    return this.#calls.call('status', signal, importId, undefined, () => {
      const { state } = this.#service.batch(importId);
      if (state === 'missing')
        throw new ServiceError('not_found', `no import ${importId}`, {
          operation: 'get_import',
          status: 404,
        });
      return { rawStatus: RAW[state] };
    });
  }

  /** Stores an import. Invalid lines count, too, because a test may upload any bytes. */
  upload(url: string, body: Buffer, { signal }: Options): Promise<void> {
    const importId = /^memory:\/\/upload\/([^?]+)/.exec(url)?.[1] ?? '';
    const lines = body.toString().split('\n').slice(0, -1);
    return this.#calls.call('upload', signal, importId, undefined, () =>
      this.#service.put(importId, lines.map(rowOf)),
    );
  }
}

const rowOf = (content: string, offset: number): ServiceRow => ({
  partition: -1,
  offset,
  content,
  status: 'success',
});
