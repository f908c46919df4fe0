/** Format of log lines for people at a terminal: one line of text from one JSON log line. */

import { parseJson } from '../../../packages/client/src/base/json/parse-json.ts';
import { escapeUnprintable } from '../../../packages/client/src/base/unprintable.ts';

const MAX_VALUE = 300;

interface LoggedError {
  readonly name: string;
  readonly message: string;
  readonly cause?: unknown;
}

/**
 * Returns `12:03:44.120 WARN  message  key=value …` and a line break. A line that is not JSON is
 * returned escaped likewise.
 */
export function formatLogLine(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = parseJson(line) as Record<string, unknown>;
  } catch {
    return `${escapeUnprintable(line.trimEnd())}\n`;
  }
  const { time, level, msg, ...fields } = record;
  const clock = String(time ?? '').slice(11, 23);
  const parts = [`${clock} ${String(level).toUpperCase().padEnd(5)} ${msg ?? ''}`];
  for (const [name, value] of Object.entries(fields)) parts.push(`${name}=${formatValue(value)}`);
  // A value from outside must neither start a line nor control the terminal.
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

/** The messages of an error and its causes; the stacks are in the JSON lines only. */
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
