import type { Decisions } from './decisions.ts';
import type { FaultScript } from './faults/script.ts';
import type { ApiKeys } from './http/api-keys.ts';
import type { SandboxPolicy } from './policy/schema.ts';
import type { ObjectStore } from './storage/object-store.ts';
import type { SandboxClock, Works } from './works.ts';

/** Parts of a running sandbox that its routes share. */
export interface SandboxContext {
  readonly policy: SandboxPolicy;
  readonly clock: SandboxClock;
  /** Signs presigned addresses. Kept with the data: addresses stay valid over a restart. */
  readonly secret: string;
  readonly apiKeys: ApiKeys;
  readonly faults: FaultScript;
  readonly works: Works;
  readonly decisions: Decisions;
  readonly objects: ObjectStore;
  /** Aborts when the sandbox stops. */
  readonly closing: AbortSignal;
}
