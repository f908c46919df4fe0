/** Options with names of topics and groups, and defaults that are derived from other names. */
import type { Value } from '../option.ts';
import { text } from '../values.ts';

/** Rule for names of pipelines and services. */
export const NAME = {
  allowed: '1 to 63 characters from [a-z0-9-], beginning with a letter or digit',
  pattern: /^[a-z0-9][a-z0-9-]{0,62}$/,
};

/** Option with the name of a topic or group, by Kafka's rules. */
export function topic(help: string): Value<string, ''> {
  return text({
    help,
    allowed: '1 to 249 characters from [A-Za-z0-9._-]',
    pattern: /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/,
  });
}

/** Adds a default that refers to other options of the same pipeline, such as `<source.topic>.decisions`. */
export function derived(option: Value<string, ''>, pattern: string): Value<string, ''> {
  return {
    ...option,
    fallback: pattern,
    schema: { anyOf: [{ const: pattern }, option.schema] },
    parse: (raw, origin) => (raw === pattern ? pattern : option.parse(raw, origin)),
  };
}

/** Options with derived names. Their order matters, because the journal's name is derived from the group's. */
const DERIVED = [
  'source.group',
  'journal.topic',
  'output.topic',
  'output.subject',
  'deadLetters.topic',
];

type OptionValues = Record<string, unknown>;

/** Replaces the references in derived names. A name becomes undefined if it refers to an option that is undefined. */
export function fillNames(pipeline: object): void {
  for (const name of DERIVED) {
    const steps = name.split('.');
    const last = steps.pop() ?? '';
    const parent = optionAt(pipeline, steps) as OptionValues | undefined;
    if (parent !== undefined) parent[last] = filled(parent[last], pipeline);
  }
}

/** Returns a default with its references replaced, or undefined if it refers to an option that is undefined. */
export function filled(pattern: unknown, pipeline: object): unknown {
  if (typeof pattern !== 'string') return pattern;
  let isKnown = true;
  const name = pattern.replace(/<([\w.]+)>/, (_, reference: string) => {
    const value = optionAt(pipeline, reference.split('.'));
    isKnown = typeof value === 'string';
    return String(value);
  });
  return isKnown ? name : undefined;
}

/** Returns the value at a path of the typed configuration, or undefined if there is none. */
export function optionAt(options: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, step) => (value as OptionValues | undefined)?.[step],
    options,
  );
}
