/** Mappings within one option: `{field: …}`, `{fields: {…}}`, `{map: {…}}`. */
import { nearest } from '../../base/nearest.ts';
import { Refusal } from '../units.ts';

/** The members of a mapping, without those that have no value; a Refusal when it has others than these, or is none. */
export function membersOf<K extends string>(
  raw: unknown,
  known: readonly K[],
): Partial<Record<K, unknown>> | Refusal {
  if (!isMapping(raw)) return new Refusal('');
  const entries = Object.entries(raw).filter(([, entry]) => entry !== null && entry !== undefined);
  const unknown = entries.find(([key]) => !known.includes(key as K));
  if (unknown !== undefined) {
    const close = nearest(unknown[0], known);
    return new Refusal(
      `${unknown[0]} is not known; ${close === undefined ? `known: ${known.join(', ')}` : `did you mean ${close}?`}`,
    );
  }
  return Object.fromEntries(entries) as Partial<Record<K, unknown>>;
}

/** Each with its name, an expression. */
export function parseFields(
  raw: unknown,
  parse: (raw: unknown, name: string) => string | Refusal,
): Readonly<Record<string, string>> | Refusal {
  if (!isMapping(raw) || Object.keys(raw).length === 0)
    return new Refusal('fields has a name and an expression for each field');
  const fields: [string, string][] = [];
  for (const [name, entry] of Object.entries(raw)) {
    const expression = parse(entry, `fields.${name}`);
    if (expression instanceof Refusal) return expression;
    fields.push([name, expression]);
  }
  return Object.fromEntries(fields);
}

/** From the values of events to types. */
export function parseTypeMap(raw: unknown): Readonly<Record<string, string>> | Refusal {
  if (!isMapping(raw) || Object.keys(raw).length === 0)
    return new Refusal('map has a value and a type for each entry');
  for (const [value, type] of Object.entries(raw)) {
    if (typeof type !== 'string' || type.trim() === '')
      return new Refusal(`map: ${JSON.stringify(value)} has no type, a text`);
  }
  return raw as Readonly<Record<string, string>>;
}

function isMapping(raw: unknown): raw is Readonly<Record<string, unknown>> {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw);
}
