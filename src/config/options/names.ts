import { type ValueOption, value } from '../option.ts';
import { Refusal } from '../units.ts';
import { text } from '../values.ts';

const ALLOWED = '1 to 249 of a-z A-Z 0-9 . _ -';

/** A topic (or a group, by the same rules), by Kafka's own rules. */
export function topic(help: string): ValueOption<string> {
  return text({ help, allowed: ALLOWED, check: (name) => (isName(name) ? undefined : '') });
}

/** The same with a default that follows from other names: shown as a pattern, `''` in the typed configuration until it is worked out. */
export function derivedTopic(help: string, pattern: string): ValueOption<string> {
  return value({
    help,
    allowed: ALLOWED,
    fallback: pattern,
    parse: (raw) => (raw === pattern ? '' : isName(raw) ? raw : new Refusal('')),
  });
}

function isName(name: unknown): name is string {
  return (
    typeof name === 'string' &&
    /^[A-Za-z0-9._-]{1,249}$/.test(name) &&
    name !== '.' &&
    name !== '..'
  );
}
