/** One readable line of text from one JSON log line, for people at a terminal. */

const MAX_VALUE = 300;

/** `12:03:44.120 WARN  message  key=value …` and a line break; a line that is not JSON is passed on with its control characters escaped. */
export function formatLogLine(line: string): string {
  let record: Record<string, unknown>;
  try {
    record = JSON.parse(line);
  } catch {
    return `${escapeControls(line.trimEnd())}\n`;
  }
  const { time, level, msg, ...fields } = record;
  const clock = typeof time === 'string' ? time.slice(11, 23) : '';
  const parts = [
    `${clock} ${String(level).toUpperCase().padEnd(5)} ${escapeControls(String(msg ?? ''))}`,
  ];
  for (const [name, value] of Object.entries(fields))
    parts.push(`${escapeControls(name)}=${formatValue(value)}`);
  return `${parts.join('  ')}\n`;
}

function formatValue(value: unknown): string {
  if (isError(value)) return quote(errorChain(value));
  if (typeof value === 'string') return /^[^\s"=\p{Cc}]+$/u.test(value) ? value : quote(value);
  return escapeControls(shorten(JSON.stringify(value) ?? 'undefined'));
}

function isError(value: unknown): value is { name: string; message: string; cause?: unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'message' in value &&
    'stack' in value
  );
}

/** Stacks are for the JSON lines; at a terminal the chain of messages says what happened. */
function errorChain(value: unknown): string {
  if (!isError(value)) return String(value);
  const here = `${value.name}: ${value.message}`;
  return value.cause === undefined ? here : `${here} <- ${errorChain(value.cause)}`;
}

function quote(text: string): string {
  return escapeControls(JSON.stringify(shorten(text)));
}

function shorten(text: string): string {
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}

/** A value from outside must neither start a new line nor steer the terminal. */
function escapeControls(text: string): string {
  return text.replace(
    /\p{Cc}/gu,
    (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
