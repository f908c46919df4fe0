/** Differences between the running configuration and a new one, and the options that a reload can change. */
import { crossChecks } from './cross-checks.ts';
import { type FoundOption, optionsIn } from './effective.ts';
import { formatPath, type Path } from './load/problem.ts';
import { outputName } from './option.ts';
import type { Config, PipelineConfig } from './schema.ts';
import { Secret } from './secret.ts';

type Named = Readonly<Record<string, unknown>>;
/** Decides whether the change of an option can be applied without a restart. */
type Reloads = (one: never, other: never) => boolean;

const always: Reloads = () => true;
/** Returns the parts of lanes that decide which items belong to them. Decoders compile these once. */
const rulesOf = (lanes: PipelineConfig['lanes']) =>
  JSON.stringify(Object.entries(lanes).map(([name, { types, when }]) => [name, types, when]));
/** Maximum of journal.partitions. Each shard must have at least one row of a quota. */
const MAX_SHARDS = 1_000;

/** Options that a reload can change. */
export const RELOADABLE: Readonly<Record<string, Reloads>> = {
  'log.level': always,
  'pipelines[].source.maxInFlight': always,
  'pipelines[].batch.maxRows': always,
  'pipelines[].batch.maxBytes': always,
  'pipelines[].batch.maxAge': always,
  'pipelines[].batch.types': always,
  'pipelines[].lanes': (one: PipelineConfig['lanes'], other: PipelineConfig['lanes']) =>
    rulesOf(one) === rulesOf(other),
  'pipelines[].quota': (one: Record<string, number>, other: Record<string, number>) =>
    // A shard has a gate only if it started with a quota, so no limit can be added or removed.
    String(Object.keys(one).sort()) === String(Object.keys(other).sort()) &&
    Object.entries(one).every(
      ([limit, rows]) =>
        limit === 'callsPerSecond' || Number(other[limit]) >= Math.min(rows, MAX_SHARDS),
    ),
  'pipelines[].objective.age': always,
  'pipelines[].objective.share': always,
};

/**
 * Compares two valid configurations. Each differing option is in `applied`, with both values as
 * written in a configuration, or in `restart`, which lists the options, pipelines and services that
 * require a restart.
 * @returns the differences and a valid configuration: the running one with the changes in `applied`
 */
export function changesOf(running: Config, next: Config) {
  const [before, after] = [optionsIn(running), optionsIn(next)];
  // A different name at the same position is a different pipeline.
  const [names, others] = [running, next].map(({ pipelines }) => pipelines.map(({ name }) => name));
  const restart = new Set<string>();
  const changed: FoundOption[] = [];
  for (const path of new Set([...after.keys(), ...before.keys()])) {
    const [one, other] = [before.get(path), after.get(path)];
    if (one === undefined || other === undefined)
      restart.add(formatPath((one ?? other)?.path.slice(0, 2) ?? []));
    else if (comparable(one.value) === comparable(other.value)) continue;
    else {
      const reloads = RELOADABLE[path.replace(/^pipelines\[\d+\]/, 'pipelines[]')];
      const isSameEntry = String(names) === String(others) || !path.startsWith('pipelines');
      if (isSameEntry && reloads?.(one.value as never, other.value as never)) changed.push(other);
      else restart.add(path);
    }
  }
  const config = changed.reduce(withOption, running);
  const applied = changed.map(({ path: steps, option, value }) => {
    const path = formatPath(steps);
    const from = option.show(before.get(path)?.value);
    return { path, text: `${path} from ${from} to ${option.show(value)}` };
  });
  if (crossChecks(config).length === 0) return { config, applied, restart: [...restart] };
  // A changed limit is valid only together with an option that requires a restart.
  return { config: running, applied: [], restart: [...restart, ...applied.map((one) => one.path)] };
}

/** Returns a value as JSON, because the order of lanes matters. */
const comparable = (value: unknown): string | undefined =>
  JSON.stringify(value, function (this: Named, name, member) {
    const original = this[name];
    return original instanceof Secret ? original.source : member;
  });

/** Returns the configuration with another value of an option. */
function withOption(config: Config, { path, option, value }: FoundOption): Config {
  const names = path.with(-1, outputName(String(path.at(-1)), option));
  const set = (node: Named, [name, ...rest]: Path): unknown => {
    if (name === undefined) return value;
    const copy = Array.isArray(node) ? [...node] : { ...node };
    return Object.assign(copy, { [name]: set(node[name] as Named, rest) });
  };
  return set(config, names) as Config;
}
