import type { FetchedBatch } from '../../../src/core/ports/kafka.ts';
import type { PipelineKind, ResultFileKind } from '../../../src/core/ports/pipeline-kind.ts';
import type { PipelinePorts } from '../../../src/pipeline/context/pipeline-context.ts';

/** Returns a port with some methods replaced. The other methods and private fields work as before. */
export function changed<T extends object>(port: T, changes: Partial<T>): T {
  return new Proxy(port, {
    get(target, name) {
      if (Object.hasOwn(changes, name)) return changes[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Passes fetched batches of both streams through `deliver`, which decides which of them reach the engine. */
export function fetchedThrough(
  deliver: (batch: FetchedBatch, give: (batch: FetchedBatch) => void, ports: PipelinePorts) => void,
): (ports: PipelinePorts) => PipelinePorts {
  return (ports) => ({
    ...ports,
    group: changed(ports.group, {
      start: (listener) =>
        ports.group.start({
          joined: (assignment) => listener.joined(assignment),
          left: (reason) => listener.left(reason),
          fetched: (batch) => deliver(batch, (one) => listener.fetched(one), ports),
        }),
    }),
  });
}

/** Narrows a kind to one with result files. @throws TypeError for other kinds */
export function withFiles(kind: PipelineKind): ResultFileKind {
  if ('results' in kind) return kind;
  throw new TypeError(`kind ${kind.name} has no result files`);
}
