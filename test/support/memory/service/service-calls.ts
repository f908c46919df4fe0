/** Calls of one instance to the service in memory. Request, effect and response are separate steps; faults are scripted. */
import { abortable } from '../../../../packages/client/src/base/abortable.ts';
import { ServiceError } from '../../../../packages/client/src/base/service-error.ts';
import { sleepOn } from '../clock.ts';
import type { Home } from '../kafka/client.ts';
import { roundTrip } from '../scheduler.ts';
import type { Fault, Operation, ReviewService } from './review-service.ts';

export class ServiceCalls {
  readonly #service: ReviewService;
  readonly #home: Home;
  readonly #client: string;
  /** Number of calls. Each call gets its own channel, because calls are concurrent. */
  #calls = 0;

  /** @param home delivers the responses of the service to this instance @param client name of the instance */
  constructor(service: ReviewService, home: Home, client: string) {
    this.#service = service;
    this.#home = home;
    this.#client = client;
  }

  /** Makes one call. It ends at once when aborted. */
  async call<T>(
    operation: Operation,
    signal: AbortSignal,
    remoteId: string | undefined,
    type: string | undefined,
    effect: (fault: Fault | undefined) => T,
  ): Promise<T> {
    signal.throwIfAborted();
    const channel = `service/${this.#client}/${operation}/${++this.#calls}`;
    let hangMs: number | undefined;
    const request = roundTrip(this.#service.network, this.#home, channel, () => {
      this.#service.calls[operation]++;
      const fault = this.#service.script.fault?.(operation, remoteId, type);
      hangMs = fault?.hangMs;
      const fails =
        fault !== undefined &&
        (hangMs !== undefined || (fault.failure !== undefined && fault.afterRows === undefined));
      const value = fails && fault.after !== true ? undefined : effect(fault);
      if (fails) throw errorOf(fault, operation);
      return value as T;
    });
    try {
      return await abortable(request, signal);
    } catch (error) {
      if (hangMs !== undefined && !signal.aborted) await sleepOn(this.#home, hangMs, signal);
      throw error;
    }
  }

  /** Yields to other steps between two slices. */
  turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#home.defer(`service/${this.#client}/slice`, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

export function errorOf(fault: Fault, operation: Operation): ServiceError {
  const failure = fault.failure ?? 'unavailable';
  const status = failure === 'rejected' ? 400 : undefined;
  const { retryAfterMs } = fault;
  const mayHaveArrived = operation === 'upload' && fault.after === true;
  return new ServiceError(failure, `scripted ${failure}`, {
    operation,
    status,
    retryAfterMs,
    mayHaveArrived,
  });
}
