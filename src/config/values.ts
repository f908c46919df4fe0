/** The kinds of values that options have. Texts that came out of `${NAME}` may stand for numbers and switches. */
import { type ValueOption, value } from './option.ts';
import type { Secret } from './secret.ts';
import { formatBytes, formatDuration, parseBytes, parseDuration, Refusal } from './units.ts';

interface Common<T> {
  readonly help: string;
  readonly fallback?: T;
}

interface Range {
  readonly min: number;
  readonly max: number;
}

/** Optional parts of a spec must be absent, not undefined. */
const fallbackOf = (fallback: unknown) => (fallback === undefined ? {} : { fallback });

export function text(
  spec: Common<string> & {
    readonly allowed: string;
    readonly check?: (text: string) => string | undefined;
  },
): ValueOption<string> {
  return value({
    help: spec.help,
    allowed: spec.allowed,
    ...fallbackOf(spec.fallback),
    parse: (raw) => parseText(raw, spec.check),
  });
}

/** A text that may be left out: `''` in the typed configuration. */
export function optionalText(spec: {
  readonly help: string;
  readonly allowed: string;
  readonly check?: (text: string) => string | undefined;
}): ValueOption<string> {
  return value({
    help: spec.help,
    allowed: spec.allowed,
    fallback: '',
    parse: (raw) => (raw === '' ? '' : parseText(raw, spec.check)),
  });
}

/** Texts by name. */
export function textMap(spec: {
  readonly help: string;
  readonly allowed: string;
  /** Why an entry is not taken. */
  readonly check?: (name: string, text: string) => string | undefined;
}): ValueOption<Readonly<Record<string, string>>> {
  return value<Readonly<Record<string, string>>>({
    help: spec.help,
    allowed: spec.allowed,
    fallback: {},
    parse: (raw) => {
      if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return new Refusal('');
      for (const [name, entry] of Object.entries(raw)) {
        const checked = parseText(entry, (text) => spec.check?.(name, text));
        if (checked instanceof Refusal)
          return new Refusal(`${name}: ${checked.hint || 'not a text, or empty'}`);
      }
      return raw as Record<string, string>;
    },
  });
}

function parseText(raw: unknown, check?: (text: string) => string | undefined): string | Refusal {
  if (typeof raw === 'number' || typeof raw === 'boolean')
    return new Refusal(`put quotes around it: "${raw}"`);
  if (typeof raw !== 'string' || raw.trim() === '') return new Refusal('');
  const objection = check?.(raw);
  return objection === undefined ? raw : new Refusal(objection);
}

export function integer(spec: Common<number> & Range): ValueOption<number> {
  return value({
    help: spec.help,
    allowed: rangeOf('a whole number', spec, String),
    ...fallbackOf(spec.fallback),
    parse: (raw) =>
      within(typeof raw === 'string' && /^\s*-?\d{1,15}\s*$/.test(raw) ? Number(raw) : raw, spec),
  });
}

/** A whole number, or `auto`: undefined in the typed configuration, worked out from the cluster. */
export function integerOrAuto(
  spec: { readonly help: string } & Range,
): ValueOption<number | undefined> {
  return value<number | undefined>({
    help: spec.help,
    allowed: `auto, or ${rangeOf('a whole number', spec, String)}`,
    fallback: 'auto',
    show: (shown) => String(shown ?? 'auto'),
    parse: (raw) =>
      raw === 'auto'
        ? undefined
        : within(typeof raw === 'string' && /^\d{1,15}$/.test(raw) ? Number(raw) : raw, spec),
  });
}

function within(amount: unknown, { min, max }: Range): number | Refusal {
  return typeof amount === 'number' && Number.isInteger(amount) && amount >= min && amount <= max
    ? amount
    : new Refusal('');
}

export function flag(spec: Common<boolean>): ValueOption<boolean> {
  return value({
    help: spec.help,
    allowed: 'true or false',
    ...fallbackOf(spec.fallback),
    parse: (raw) => {
      if (raw === true || raw === 'true') return true;
      return raw === false || raw === 'false' ? false : new Refusal('');
    },
  });
}

export function choice<const C extends string>(
  spec: Common<C> & { readonly of: readonly C[] },
): ValueOption<C> {
  return value({
    help: spec.help,
    allowed: spec.of.length === 1 ? String(spec.of[0]) : `one of ${spec.of.join(', ')}`,
    ...fallbackOf(spec.fallback),
    parse: (raw) => spec.of.find((known) => known === raw) ?? new Refusal(''),
  });
}

/** In the typed configuration milliseconds, under a name that ends in `Ms`. */
export function duration(
  spec: Common<string> & { readonly min: string; readonly max: string },
): ValueOption<number, 'Ms'> {
  return value({
    help: spec.help,
    allowed: `a length of time from ${spec.min} to ${spec.max}, such as ${spec.fallback ?? spec.min} (units ms, s, m, h, d)`,
    ...fallbackOf(spec.fallback),
    unit: 'Ms',
    show: formatDuration,
    parse: (raw) => bounded(parseDuration(raw), parseDuration(spec.min), parseDuration(spec.max)),
  });
}

/** In the typed configuration bytes, under a name that ends in `Bytes`. */
export function bytes(
  spec: Common<string> & { readonly min: string; readonly max: string },
): ValueOption<number, 'Bytes'> {
  return value({
    help: spec.help,
    allowed: `a size from ${spec.min} to ${spec.max}, such as ${spec.fallback ?? spec.min} (units B, KiB, MiB, GiB)`,
    ...fallbackOf(spec.fallback),
    unit: 'Bytes',
    show: formatBytes,
    parse: (raw) => bounded(parseBytes(raw), parseBytes(spec.min), parseBytes(spec.max)),
  });
}

function bounded(
  amount: number | Refusal,
  min: number | Refusal,
  max: number | Refusal,
): number | Refusal {
  if (amount instanceof Refusal) return amount;
  return amount >= Number(min) && amount <= Number(max) ? amount : new Refusal('');
}

/** A list of texts; also one text with commas, so that a variable can hold several. */
export function texts(
  spec: Common<readonly string[]> & {
    readonly allowed: string;
    readonly atLeast?: number;
    readonly check?: (text: string) => string | undefined;
  },
): ValueOption<readonly string[]> {
  return value<readonly string[]>({
    help: spec.help,
    allowed: spec.allowed,
    ...fallbackOf(spec.fallback),
    parse: (raw) => {
      const entries: unknown =
        typeof raw === 'string' ? raw.split(',').map((entry) => entry.trim()) : raw;
      if (!Array.isArray(entries)) return new Refusal('');
      if (entries.length < (spec.atLeast ?? 0)) return new Refusal('the list is empty');
      for (const [index, entry] of entries.entries()) {
        const checked = parseText(entry, spec.check);
        if (checked instanceof Refusal)
          return new Refusal(`entry ${index + 1}: ${checked.hint || 'not a text, or empty'}`);
        if (entries.indexOf(entry) !== index)
          return new Refusal(`entry ${index + 1} is there twice`);
      }
      return entries as readonly string[];
    },
  });
}

/** A value that never appears anywhere; where it comes from is up to `read`. */
export function secret(spec: {
  readonly help: string;
  readonly read: (raw: unknown) => Secret | Refusal;
}): ValueOption<Secret> {
  return value({
    help: spec.help,
    allowed:
      '{env: NAME} or {file: PATH}; a text is taken too, but secrets do not belong into configuration files',
    secret: true,
    show: String,
    parse: spec.read,
  });
}

/** A secret that may be left out. */
export function optionalSecret(spec: {
  readonly help: string;
  readonly read: (raw: unknown) => Secret | Refusal;
}): ValueOption<Secret | undefined> {
  return value<Secret | undefined>({
    help: spec.help,
    allowed:
      '{env: NAME} or {file: PATH}; a text is taken too, but secrets do not belong into configuration files',
    secret: true,
    fallback: '',
    show: (shown) => (shown === undefined ? '' : String(shown)),
    parse: (raw) => (raw === '' ? undefined : spec.read(raw)),
  });
}

function rangeOf(what: string, { min, max }: Range, show: (bound: number) => string): string {
  return `${what} from ${show(min)} to ${show(max)}`;
}
