/** A logger that tests can look into. */
import type { Logger } from '../../src/core/ports/telemetry.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

export type RecordingLogger = Logger & { readonly lines: LogLine[] };

/** Keeps what was logged, by it and by its children. */
export function recordingLogger(lines: LogLine[] = []): RecordingLogger {
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: { ...fields } });
  };
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => recordingLogger(lines),
  };
}
