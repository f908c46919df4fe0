import type { Path } from '../load/problem.ts';
import { type Option, outputName, type Value } from '../option.ts';
import { filled } from '../options/names.ts';
import { CONFIGURATION } from '../schema.ts';

/** Option of a configuration that may have mistakes. */
interface Drafted {
  readonly path: Path;
  /** undefined when it is wrong, or optional and not written. */
  readonly value: unknown;
  /** True with another value than the default. */
  readonly isSet: boolean;
  show(value: unknown): string;
}

const NO_ORIGIN = { env: {}, directory: '' };

/** Finds an option by its name, with the index of the pipeline in place of `pipelines[]`. */
export function drafted(draft: unknown, name: string, index: number): Drafted {
  let option: Option = CONFIGURATION;
  let value = draft;
  let pipeline: object = {};
  const path: (string | number)[] = [];
  for (const step of name.split('.')) {
    const key = step.replace('[]', '');
    const member: Option | undefined = option.kind === 'group' ? option.shape[key] : undefined;
    if (member === undefined) throw new Error(`there is no option ${name}`);
    value = (value as Record<string, unknown> | undefined)?.[outputName(key, member)];
    path.push(key);
    option = member;
    if (option.kind === 'list') {
      value = (value as readonly unknown[] | undefined)?.[index];
      pipeline = (value ?? {}) as object;
      path.push(index);
      option = option.item;
    }
  }
  if (option.kind !== 'value') throw new Error(`${name} is a group`);
  return { path, value, isSet: isSet(option, value, pipeline), show: option.show };
}

/** Returns whether an option has another value than its default, which may refer to its pipeline. */
export function isSet({ fallback, parse }: Value<unknown>, value: unknown, pipeline: object) {
  const unset = fallback === undefined ? undefined : filled(parse(fallback, NO_ORIGIN), pipeline);
  return value !== undefined && JSON.stringify(value) !== JSON.stringify(unset);
}
