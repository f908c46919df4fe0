import type { Works, WorksParts } from './batches-and-imports.ts';
import type { Decisions } from './decisions.ts';
import type { ApiKeys } from './http-server.ts';

/** Parts of a running sandbox that its routes share. */
export interface SandboxContext extends WorksParts {
  readonly works: Works;
  /** Signs presigned addresses. Kept with the data: addresses stay valid over a restart. */
  readonly secret: string;
  readonly apiKeys: ApiKeys;
  readonly decisions: Decisions;
  /** Aborts when the sandbox stops. */
  readonly closing: AbortSignal;
}
