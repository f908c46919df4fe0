/**
 * The status check of imports (service-interface.md 4.4). Its path is configured, as the interface does not show it, and a wrong
 * one answers 404 as well: believed at once, that would have every import submitted again and again.
 */

import { ServiceError } from '../../core/outcome/service-error.ts';
import type { RemoteState, RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import { normaliseImportStatus } from '../../service/contract.ts';
import type { ImportService } from './import-service.ts';

export class StatusCheck {
  readonly #service: ImportService;
  /** Made to be asked for, and never uploaded. Without a file it costs nothing. */
  #probe: string | undefined;
  /** Whether imports were found since the probe was made: then a probe that is not found may have been dropped by the service. */
  #foundSince = false;

  constructor(service: ImportService) {
    this.#service = service;
  }

  /** @throws ServiceError: `not_found` as long as no import at all is found; the signal's reason. */
  async ask(importId: string, signal: AbortSignal): Promise<RemoteStatus> {
    try {
      const rawState = await this.#find(importId, signal);
      return { state: stateOf(rawState), rawState };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#findProbe(signal);
      return { state: 'missing', rawState: `HTTP ${error.status ?? 404}` };
    }
  }

  async #find(importId: string, signal: AbortSignal): Promise<string> {
    const { rawStatus } = await this.#service.getImport(importId, { signal });
    this.#foundSince = true;
    return rawStatus;
  }

  /** Asks for an import that is there for certain, unless the path is wrong, or lost. */
  async #findProbe(signal: AbortSignal): Promise<void> {
    try {
      await this.#find(this.#probe ?? (await this.#makeProbe(signal)), signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (this.#foundSince) {
        await this.#makeProbe(signal);
        return await this.#findProbe(signal);
      }
      const { operation, status, retryAfterMs } = error;
      const message = `${error.message}. An import that was made to be asked for is not found there either: check service.importPath`;
      throw new ServiceError('not_found', message, { operation, status, retryAfterMs });
    }
  }

  async #makeProbe(signal: AbortSignal): Promise<string> {
    this.#probe = (await this.#service.createImport({ signal })).importId;
    this.#foundSince = false;
    return this.#probe;
  }
}

function isNotFound(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.failure === 'not_found';
}

function stateOf(rawState: string): RemoteState {
  switch (normaliseImportStatus(rawState)) {
    case 'WAITING_FOR_UPLOAD':
      return 'waiting_for_upload';
    case 'IN_PROGRESS':
      return 'pending';
    case 'COMPLETE':
      return 'finished';
    case 'FAILED':
      return 'failed';
    case undefined:
      return 'unknown';
  }
}
