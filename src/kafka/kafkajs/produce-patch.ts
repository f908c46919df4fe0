/** Patch 6 of docs/internals/kafkajs.md: produce requests that are written in front of their batch. */
import { internal, replace } from './internals.ts';
import type { ProduceOptions } from './shapes.ts';

interface FramedRequest {
  /** Overwritten by the later versions of a request. */
  readonly apiVersion: number;
  /** Writes the whole request: only ours has it. */
  readonly frame?: (apiVersion: number, correlationId: number, clientId: string) => Buffer;
}
type FrameRequest = (given: {
  readonly request: FramedRequest;
  readonly correlationId: number;
  readonly clientId: string;
}) => Promise<{ readonly buffer: Buffer }>;

/** Replaces the request that the later versions build on, and lets a request write its own frame. */
export function writeRequestsInPlace(): void {
  replace(
    'protocol/requests/produce/v3/request.js',
    ({ topicData: { topic, batch }, timeout: timeoutMs, ...fields }: Required<ProduceOptions>) => ({
      apiKey: 0,
      apiVersion: 3,
      apiName: 'Produce',
      frame: (apiVersion: number, correlationId: number, clientId: string) =>
        batch.request({ ...fields, apiVersion, correlationId, clientId, timeoutMs, topic }),
    }),
  );
  const frame = internal<FrameRequest>('protocol/request.js');
  const inPlace: FrameRequest = async (given) => {
    const { request, correlationId, clientId } = given;
    return request.frame === undefined
      ? await frame(given)
      : { buffer: request.frame(request.apiVersion, correlationId, clientId) };
  };
  replace('protocol/request.js', inPlace);
}
