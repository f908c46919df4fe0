/**
 * Status check of imports. Its path is configured, since the interface does not define it, and a
 * wrong path returns 404 as well: taken literally, that would resubmit every import endlessly.
 */

import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import { normaliseImportStatus } from '../../../packages/client/src/service/contract.ts';
import type { RemoteState } from '../../core/outcome/follow-policy.ts';
import type { RemoteStatus } from '../../core/ports/pipeline-kind.ts';
import type { ImportService } from '../service-ports.ts';

const STATES = {
  WAITING_FOR_UPLOAD: 'waiting_for_upload',
  IN_PROGRESS: 'pending',
  COMPLETE: 'finished',
  FAILED: 'failed',
} as const satisfies Record<string, RemoteState>;

export class StatusCheck {
  readonly #service: ImportService;
  /** Import created only to be queried. It is never uploaded and costs nothing. */
  #control: string | undefined;
  /** True if an import was found since then: the service may have dropped the control. */
  #foundSince = false;

  constructor(service: ImportService) {
    this.#service = service;
  }

  /** @throws ServiceError `not_found` while no import at all is found; the signal's reason */
  async status(importId: string, signal: AbortSignal): Promise<RemoteStatus> {
    try {
      const rawState = await this.#find(importId, signal);
      const status = normaliseImportStatus(rawState);
      return { state: status === undefined ? 'unknown' : STATES[status], rawState };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#findControl(signal);
      return { state: 'missing', rawState: `HTTP ${error.status ?? 404}` };
    }
  }

  async #find(importId: string, signal: AbortSignal): Promise<string> {
    const { rawStatus } = await this.#service.getImport(importId, { signal });
    this.#foundSince = true;
    return rawStatus;
  }

  /** Queries an import that exists for certain unless the path is wrong, or it was dropped. */
  async #findControl(signal: AbortSignal): Promise<void> {
    try {
      await this.#find(this.#control ?? (await this.#createControl(signal)), signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (this.#foundSince) {
        await this.#createControl(signal);
        return await this.#findControl(signal);
      }
      throw error.restated(
        `${error.message}. An import created as a control is not found either: check service.importPath`,
      );
    }
  }

  async #createControl(signal: AbortSignal): Promise<string> {
    this.#control = (await this.#service.createImport({ signal })).importId;
    this.#foundSince = false;
    return this.#control;
  }
}

function isNotFound(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.failure === 'not_found';
}
