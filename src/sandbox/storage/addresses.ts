/** Addresses that the API hands out: of an upload, of results. */
import type { SandboxClock } from '../clock.ts';
import type { Fault } from '../faults/schema.ts';
import type { Policy } from '../policy/schema.ts';
import type { Folder } from './paths.ts';
import { presign } from './presign.ts';

export interface AddressParts {
  readonly policy: Policy;
  readonly clock: SandboxClock;
  readonly secret: string;
}

export interface Place {
  readonly folder: Folder;
  readonly id: string;
  /** Scheme and host that the caller reaches the sandbox at. */
  readonly origin: string;
}

/** @param idName of the signed parameter that carries the id, such as batch_id (service-interface.md 2.1). */
export function uploadAddress(
  {
    folder,
    id,
    origin,
    contentType,
    idName,
  }: Place & { readonly contentType: string; readonly idName: string },
  fault: Fault | undefined,
  { policy, clock, secret }: AddressParts,
): string {
  const { service, timing } = policy;
  return presign(secret, {
    method: 'PUT',
    origin,
    path: folder.path(id),
    contentType,
    parameters: {
      [`x-amz-meta-${idName}`]: id,
      'x-amz-meta-policy_id': service.policyId,
      'x-amz-meta-team_id': service.teamId,
      'x-amz-meta-team_name': service.teamName,
    },
    ...validity(timing.uploadUrlValidityMs, fault, clock),
  });
}

export function downloadAddress(
  { folder, id, origin }: Place,
  fault: Fault | undefined,
  parts: AddressParts,
): string {
  const valid = validity(parts.policy.timing.downloadUrlValidityMs, fault, parts.clock);
  return presign(parts.secret, { method: 'GET', origin, path: folder.path(id), ...valid });
}

/** An expired address is a good one, signed too long ago. */
function validity(validForMs: number, fault: Fault | undefined, clock: SandboxClock) {
  const ageMs = fault?.action === 'expired_url' ? validForMs + 60_000 : 0;
  return { signedAtMs: clock.now() - ageMs, validForMs };
}
