import { fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import {
  type DestinationStream,
  destination,
  type Logger as Pino,
  pino,
  stdTimeFunctions,
} from 'pino';
import { tryParseJson } from '../../packages/client/src/base/json/parse-json.ts';
import { escapeUnprintable } from '../../packages/client/src/base/shown-text.ts';
import type { Logger } from '../core/ports/telemetry.ts';
import { redactFields, redactText } from './log-redaction.ts';

// Log lines for terminals: each JSON log line becomes one line of text.

const MAX_VALUE = 300;

interface LoggedError {
  readonly name: string;
  readonly message: string;
  readonly cause?: unknown;
}

/** Returns `12:03:44.120 WARN  message  key=value …` with a line break. A line that is not JSON is only escaped. */
export function formatLogLine(line: string): string {
  const record = tryParseJson(line) as Record<string, unknown> | undefined;
  if (record === undefined) return `${escapeUnprintable(line.trimEnd())}\n`;
  const { time, level, msg, ...fields } = record;
  const clock = String(time ?? '').slice(11, 23);
  const parts = [`${clock} ${String(level).toUpperCase().padEnd(5)} ${msg ?? ''}`];
  for (const [name, value] of Object.entries(fields)) parts.push(`${name}=${formatValue(value)}`);
  // Values from outside must neither start a new line nor control the terminal.
  return `${escapeUnprintable(parts.join('  '))}\n`;
}

function formatValue(value: unknown): string {
  if (isError(value)) return quote(errorChain(value));
  if (typeof value !== 'string') return shorten(JSON.stringify(value) ?? 'undefined');
  return /^[^\s"=\p{Cc}]+$/u.test(value) ? value : quote(value);
}

function isError(value: unknown): value is LoggedError {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['name', 'message', 'stack'].every((member) => member in value)
  );
}

/** Returns the messages of an error and its causes. Stacks are only in JSON lines. */
function errorChain(value: unknown): string {
  if (!isError(value)) return String(value);
  const here = `${value.name}: ${value.message}`;
  return value.cause === undefined ? here : `${here} <- ${errorChain(value.cause)}`;
}

function quote(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string): string {
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

// Standard output for log lines. Container runtimes, systemd and shells make it a pipe or socket,
// and its reader may stop reading. A blocking write would then stop every loop, including
// heartbeats. Therefore a line is written at once while the reader keeps up, queued if it does not,
// and dropped if the queue is full.

const STANDARD_OUTPUT = 1;
/** Maximum length of the queue in UTF-16 units. */
const MAX_QUEUED = 1024 * 1024;

/** @param onDropped called with the number of lines that cannot be written */
function standardOutput(onDropped: (lines: number) => void): DestinationStream {
  const stat = fstatSync(STANDARD_OUTPUT);
  // Blocking writes to files and terminals always return.
  if (!stat.isFIFO() && !stat.isSocket()) return destination({ dest: STANDARD_OUTPUT, sync: true });
  // While the pipe has room, lines are written at once, so that lines before a crash are not lost.
  const pipe = new Socket({ fd: STANDARD_OUTPUT, readable: false, writable: true });
  let isOpen = true;
  pipe.unref();
  pipe.on('error', () => {
    isOpen = false;
  });
  return {
    write(line) {
      if (isOpen && pipe.writableLength + line.length <= MAX_QUEUED) pipe.write(line);
      else onDropped(1);
    },
  };
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export type LogFormat = 'json' | 'text';
export type LogFields = Readonly<Record<string, unknown>>;
type OnProblem = (level: 'warn' | 'error', fields: LogFields, message: string) => void;

interface LoggerOptions {
  readonly level: LogLevel;
  /** Default: `chooseLogFormat()`. */
  readonly format?: LogFormat;
  /** Destination of the lines. Receives one line per write. Default: standard output. */
  readonly sink?: DestinationStream;
  /** Called with the number of lines that were dropped because standard output was not read fast enough. */
  readonly onDropped?: (lines: number) => void;
  /** Called for each warning and error with its redacted fields, whatever `level` is. */
  readonly onProblem?: OnProblem;
}

/** Fields of every line. If a caller passes a field with one of these names, an underscore is added to it. */
const RESERVED = new Set(['level', 'time', 'msg']);

/** Returns `LOG_FORMAT` (json or text) if it is set. Otherwise text for a terminal, and JSON for anything else. */
export function chooseLogFormat(
  env: NodeJS.ProcessEnv = process.env,
  isTty: boolean = process.stdout.isTTY === true,
): LogFormat {
  if (env.LOG_FORMAT === 'text' || env.LOG_FORMAT === 'json') return env.LOG_FORMAT;
  return isTty ? 'text' : 'json';
}

/**
 * Creates a logger based on pino. Every field and message is redacted (log-redaction.ts). Lines are
 * written synchronously where possible, so that lines before a crash are not lost.
 * @returns the logger, and a function that changes the level of the logger and its children
 */
export function createLogger(options: LoggerOptions): Logger & { setLevel(level: LogLevel): void } {
  const lines = options.sink ?? standardOutput(options.onDropped ?? (() => undefined));
  const text = (options.format ?? chooseLogFormat()) === 'text';
  const root = pino(
    {
      level: options.level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // The fields are already redacted plain values.
      serializers: {},
    },
    { write: (line) => lines.write(text ? formatLogLine(line) : escaped(line)) },
  );
  const setLevel = (level: LogLevel) => {
    root.level = level;
  };
  return { ...loggerOver(root, {}, options.onProblem), setLevel };
}

/** Returns the same JSON line with its control characters escaped. */
const escaped = (line: string): string => `${escapeUnprintable(line.slice(0, -1))}\n`;

/** @param bindings fields of every line; merged here, because pino would print a name twice if a call repeats it */
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
