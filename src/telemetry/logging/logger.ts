import {
  type DestinationStream,
  destination,
  type Logger as Pino,
  pino,
  stdTimeFunctions,
} from 'pino';
import type { Logger } from '../../core/ports/telemetry.ts';
import { formatLogLine } from './log-text.ts';
import { redactFields, redactText } from './redact.ts';
import { isPipe, PipeSink } from './standard-output.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFormat = 'json' | 'text';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Default: what `chooseLogFormat` says about this process. */
  readonly format?: LogFormat;
  /** Where lines go; default standard output. Each write is one line. */
  readonly sink?: DestinationStream;
  /** Told of lines that nobody will read, because the reader of standard output has stopped. */
  readonly onDropped?: (lines: number) => void;
  /** Told of each warning and error, redacted, whatever the level. */
  readonly onProblem?: OnProblem;
}

/** The logger of a process: what changes its level changes that of all its children. */
export interface LeveledLogger extends Logger {
  readonly level: LogLevel;
  setLevel(level: LogLevel): void;
}

export type OnProblem = (
  level: 'warn' | 'error',
  fields: Readonly<Record<string, unknown>>,
  message: string,
) => void;

const STANDARD_OUTPUT = 1;
/** Fields that every line has: a caller's field of the same name moves aside instead of making the line ambiguous. */
const RESERVED = new Set(['level', 'time', 'msg']);

/** JSON lines for machines; text when a person looks at a terminal. `LOG_FORMAT` (json, text) decides when it is set. */
export function chooseLogFormat(
  env: NodeJS.ProcessEnv = process.env,
  isTty: boolean = process.stdout.isTTY === true,
): LogFormat {
  if (env.LOG_FORMAT === 'text' || env.LOG_FORMAT === 'json') return env.LOG_FORMAT;
  return isTty ? 'text' : 'json';
}

/**
 * The core port over pino. Every field and message is redacted (redact.ts), errors keep name, message, stack, causes and a
 * few known fields. Lines are written at once: what was logged just before a crash is there to read.
 */
export function createLogger(options: LoggerOptions): LeveledLogger {
  const lines = options.sink ?? standardOutput(options.onDropped ?? (() => undefined));
  const text = (options.format ?? chooseLogFormat()) === 'text';
  const sink: DestinationStream = text
    ? { write: (line) => lines.write(formatLogLine(line)) }
    : lines;
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Fields arrive as plain, redacted values; pino's own treatment of errors and nesting has nothing to add.
      serializers: {},
    },
    sink,
  );
  return new PinoLogger(logger, {}, options.onProblem);
}

function standardOutput(onDropped: (lines: number) => void): DestinationStream {
  return isPipe(STANDARD_OUTPUT)
    ? new PipeSink(STANDARD_OUTPUT, onDropped)
    : destination({ dest: STANDARD_OUTPUT, sync: true });
}

class PinoLogger implements LeveledLogger {
  readonly #pino: Pino;
  readonly #bindings: Readonly<Record<string, unknown>>;
  readonly #onProblem: OnProblem | undefined;

  constructor(
    logger: Pino,
    bindings: Readonly<Record<string, unknown>>,
    onProblem: OnProblem | undefined,
  ) {
    this.#pino = logger;
    this.#bindings = bindings;
    this.#onProblem = onProblem;
  }

  get level(): LogLevel {
    return this.#pino.level as LogLevel;
  }

  setLevel(level: LogLevel): void {
    this.#pino.level = level;
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message);
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message);
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message);
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message);
  }

  /** Fields are merged here, not by pino, which would print a name twice when a call repeats one of its parent's. */
  child(fields: object): Logger {
    return new PinoLogger(this.#pino, { ...this.#bindings, ...prepare(fields) }, this.#onProblem);
  }

  #write(level: 'debug' | 'info' | 'warn' | 'error', fields: object, message: string): void {
    const onProblem = level === 'warn' || level === 'error' ? this.#onProblem : undefined;
    if (onProblem === undefined && !this.#pino.isLevelEnabled(level)) return;
    const [safe, text] = [{ ...this.#bindings, ...prepare(fields) }, redactText(message)];
    if (level === 'warn' || level === 'error') onProblem?.(level, safe, text);
    this.#pino[level](safe, text);
  }
}

function prepare(fields: object): Record<string, unknown> {
  const safe = redactFields(fields);
  for (const name of Object.keys(safe)) {
    if (!RESERVED.has(name)) continue;
    safe[`${name}_`] = safe[name];
    delete safe[name];
  }
  return safe;
}
