/** Messages between a process and its keeper: one JSON object per line. */

/** Command that removes what a killed child leaves behind, such as a container. */
export interface ClosingCommand {
  readonly command: string;
  readonly args: readonly string[];
}

export interface RunChild {
  readonly id: number;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** File to which standard output and error are appended. */
  readonly logFile?: string | undefined;
  /** True if each line of output is also sent back. */
  readonly lines: boolean;
  readonly closing: readonly ClosingCommand[];
}

export type ToKeeper =
  | { readonly run: RunChild }
  | { readonly kill: number; readonly signal: NodeJS.Signals }
  /** Directory to remove when the parent is gone. */
  | { readonly keep: string }
  | { readonly release: string };

export type FromKeeper =
  | { readonly spawned: number; readonly pid: number }
  | { readonly failed: number; readonly message: string }
  | {
      readonly exited: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  | { readonly line: string; readonly of: number };
