import { type DestinationStream, type Logger as Pino, pino, stdTimeFunctions } from 'pino';
import { escapeUnprintable } from '../../../packages/client/src/base/unprintable.ts';
import type { Logger } from '../../core/ports/telemetry.ts';
import { formatLogLine } from './log-text.ts';
import { redactFields, redactText } from './redact.ts';
import { standardOutput } from './standard-output.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export type LogFormat = 'json' | 'text';
export type LogFields = Readonly<Record<string, unknown>>;
type OnProblem = (level: 'warn' | 'error', fields: LogFields, message: string) => void;

interface LoggerOptions {
  readonly level: LogLevel;
  /** Default: the choice of `chooseLogFormat` for this process. */
  readonly format?: LogFormat;
  /** Destination of the lines, one per write. Default: standard output. */
  readonly sink?: DestinationStream;
  /** Called for lines that are dropped because standard output is not read. */
  readonly onDropped?: (lines: number) => void;
  /** Called for each warning and error, redacted, whatever the level. */
  readonly onProblem?: OnProblem;
}

/** Logger of a process. Its children have the same level. */
export interface LeveledLogger extends Logger {
  readonly level: LogLevel;
  setLevel(level: LogLevel): void;
}

/** Fields of every line. A caller's field of the same name gets a trailing underscore. */
const RESERVED = new Set(['level', 'time', 'msg']);

/** Returns `LOG_FORMAT` (json, text) if set, else text for a terminal and JSON otherwise. */
export function chooseLogFormat(
  env: NodeJS.ProcessEnv = process.env,
  isTty: boolean = process.stdout.isTTY === true,
): LogFormat {
  if (env.LOG_FORMAT === 'text' || env.LOG_FORMAT === 'json') return env.LOG_FORMAT;
  return isTty ? 'text' : 'json';
}

/**
 * Creates a logger over pino. Every field and message is redacted (redact.ts). Lines are written
 * synchronously where possible, so that the lines before a crash are not lost.
 */
export function createLogger(options: LoggerOptions): LeveledLogger {
  const lines = options.sink ?? standardOutput(options.onDropped ?? (() => undefined));
  const text = (options.format ?? chooseLogFormat()) === 'text';
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // The fields are plain, redacted values already.
      serializers: {},
    },
    { write: (line) => lines.write(text ? formatLogLine(line) : escaped(line)) },
  );
  return {
    ...loggerOver(root, {}, options.onProblem),
    get level() {
      return root.level as LogLevel;
    },
    setLevel(level) {
      root.level = level;
    },
  };
}

/** Returns an equal line of JSON, in which no text of others controls a terminal. */
const escaped = (line: string): string => `${escapeUnprintable(line.slice(0, -1))}\n`;

/** @param bindings fields of every line: pino would print a name twice that a call repeats */
function loggerOver(root: Pino, bindings: LogFields, onProblem: OnProblem | undefined): Logger {
  const writer = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, text: string) => {
    const report = level === 'warn' || level === 'error' ? onProblem : undefined;
    if (report === undefined && !root.isLevelEnabled(level)) return;
    const safe = { ...bindings, ...prepare(fields) };
    const message = redactText(text);
    if (level === 'warn' || level === 'error') report?.(level, safe, message);
    root[level](safe, message);
  };
  return {
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
    child: (fields) => loggerOver(root, { ...bindings, ...prepare(fields) }, onProblem),
  };
}

function prepare(fields: object): LogFields {
  return Object.fromEntries(
    Object.entries(redactFields(fields)).map(([name, value]) => [
      RESERVED.has(name) ? `${name}_` : name,
      value,
    ]),
  );
}
