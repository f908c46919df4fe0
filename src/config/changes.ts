/** Differences between the running configuration and a new one, and the options that a reload can change. */
import { crossChecks } from './cross-checks.ts';
import { type FoundOption, optionsIn, secretsOf } from './effective.ts';
import { formatPath, type Path } from './load/problem.ts';
import { outputName } from './option.ts';
import type { Config, PipelineConfig } from './schema.ts';

type Named = Readonly<Record<string, unknown>>;
const always = () => true;
const sameNames = (one: Named, other: Named) =>
  String(Object.keys(one)) === String(Object.keys(other));
/** Returns the parts of lanes that decide which items belong to them. Decoders compile these once. */
const rulesOf = (lanes: PipelineConfig['lanes']) =>
  JSON.stringify(Object.entries(lanes).map(([name, { types, when }]) => [name, types, when]));

/**
 * Options that can change without a restart. The functions compare two values, and return false for
 * a change that requires a restart.
 */
export const RELOADABLE: Readonly<Record<string, (one: never, other: never) => boolean>> = {
  'log.level': always,
  'pipelines[].source.maxInFlight': always,
  'pipelines[].batch.maxRows': always,
  'pipelines[].batch.maxBytes': always,
  'pipelines[].batch.maxAge': always,
  'pipelines[].batch.types': always,
  'pipelines[].lanes': (one: PipelineConfig['lanes'], other: PipelineConfig['lanes']) =>
    rulesOf(one) === rulesOf(other),
  // Only a shard of a pipeline with a quota has a gate.
  'pipelines[].quota': (one: Named, other: Named) => sameNames(one, other),
  'pipelines[].objective.age': always,
  'pipelines[].objective.share': always,
};

export interface ConfigChanges {
  /** The running configuration with the changes in `applied`. It is valid. */
  readonly config: Config;
  /** Options that a reload changes, with both values as written in a configuration. */
  readonly applied: readonly { readonly path: string; readonly text: string }[];
  /** Paths of options that require a restart, or of an entry that was added or removed. */
  readonly restart: readonly string[];
}

/** Compares two valid configurations. Each differing option is in `applied`, or is or belongs to an entry of `restart`. */
export function changesOf(running: Config, next: Config): ConfigChanges {
  const [before, after] = [optionsIn(running), optionsIn(next)];
  const restart = new Set<string>();
  const changed: FoundOption[] = [];
  for (const name of new Set([...after.keys(), ...before.keys()])) {
    const [one, other] = [before.get(name), after.get(name)];
    if (one === undefined || other === undefined)
      restart.add(formatPath((one ?? other)?.path.slice(0, 2) ?? []));
    else if (isSame(one.value, other.value)) continue;
    else if (mayReload(one, other) && isSameEntry(one.path, running, next)) changed.push(other);
    else restart.add(name);
  }
  const config = changed.reduce(withOption, running);
  const applied = changed.map(({ path, option, value }) => {
    const name = formatPath(path);
    const from = option.show(before.get(name)?.value);
    return { path: name, text: `${name} from ${from} to ${option.show(value)}` };
  });
  if (crossChecks(config).length === 0) return { config, applied, restart: [...restart] };
  // A limit fits only together with an option that requires a restart.
  return { config: running, applied: [], restart: [...restart, ...applied.map((one) => one.path)] };
}

/** Compares values as JSON, because the order of lanes matters, and secrets by their sources. */
function isSame(one: unknown, other: unknown): boolean {
  const others = secretsOf(other);
  return (
    JSON.stringify(one) === JSON.stringify(other) &&
    secretsOf(one).every((secret, index) => secret.isSameAs(others[index]))
  );
}

function mayReload(one: FoundOption, other: FoundOption): boolean {
  const reloads = RELOADABLE[formatPath(one.path).replace(/\[\d+\]/, '[]')];
  return reloads?.(one.value as never, other.value as never) === true;
}

/** Returns false for an option of a pipeline if another pipeline now has its position. */
function isSameEntry([list, index]: Path, { pipelines }: Config, next: Config): boolean {
  return (
    list !== 'pipelines' || pipelines[Number(index)]?.name === next.pipelines[Number(index)]?.name
  );
}

/** Returns the configuration with another value of an option. */
function withOption(config: Config, { path, option, value }: FoundOption): Config {
  const set = (node: Named | readonly unknown[], [step = '', ...rest]: Path): unknown => {
    if (Array.isArray(node)) return node.with(Number(step), set(node[Number(step)], rest));
    const members = node as Named;
    if (rest.length === 0) return { ...members, [outputName(String(step), option)]: value };
    return { ...members, [step]: set(members[step] as Named, rest) };
  };
  return set(config, path) as Config;
}
