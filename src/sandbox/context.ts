import type { Decisions, DecisionsParts } from './decisions.ts';
import type { ApiKeys } from './http/api-keys.ts';

/** Parts of a running sandbox that its routes share. */
export interface SandboxContext extends DecisionsParts {
  /** Signs presigned addresses. Kept with the data: addresses stay valid over a restart. */
  readonly secret: string;
  readonly apiKeys: ApiKeys;
  readonly decisions: Decisions;
  /** Aborts when the sandbox stops. */
  readonly closing: AbortSignal;
}
