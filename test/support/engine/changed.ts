import type { PipelineKind, ResultFileKind } from '../../../src/core/ports/pipeline-kind.ts';

/** A port with some of its methods replaced; the rest stay as they are, private fields included. */
export function changed<T extends object>(port: T, changes: Partial<T>): T {
  return new Proxy(port, {
    get(target, name) {
      if (Object.hasOwn(changes, name)) return changes[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The kind, whose jobs have result files. */
export function withFiles(kind: PipelineKind): ResultFileKind {
  if ('results' in kind) return kind;
  throw new TypeError(`kind ${kind.name} has no result files`);
}
