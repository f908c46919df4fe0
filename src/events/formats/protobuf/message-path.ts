/** Finds the message of a file that the message indexes of a record name. */
import protobuf from 'protobufjs';
import { err, ok, type Result } from '../../../../packages/client/src/base/result.ts';
import { isEntry, isGroup } from './schema-root.ts';

/**
 * Finds a message by its indexes. Clients do not count alike: for those that count descriptors
 * (Python, Go, .NET) the entries of a map and the content of a group are messages too, for Java
 * they are not, and a registry that prints a schema again moves them. So an index can mean any
 * message that is at most as many places before it as there are maps and groups. Where that is
 * more than one, guessing could read a record as something else.
 */
export function messageAt(
  messages: readonly protobuf.Type[],
  indexes: readonly number[],
): Result<protobuf.Type> {
  let around: Nesting = { level: messages, uncounted: 0 };
  let found: protobuf.Type | undefined;
  for (const index of indexes) {
    const { level, uncounted } = around;
    const [only, other] = level.filter((_, place) => place <= index && index <= place + uncounted);
    if (only === undefined) return err('the schema has no message at the indexes of the record');
    if (other !== undefined) {
      const name = found?.name;
      return err(
        `the indexes of the record may mean ${only.name} or ${other.name}, because ${name} has maps or groups, which not every client counts: move them out of ${name}`,
      );
    }
    found = only;
    around = within(only);
  }
  return found === undefined ? err('the record has no message indexes') : ok(found);
}

interface Nesting {
  readonly level: readonly protobuf.Type[];
  /** Maps and groups, which only some clients count as messages. */
  readonly uncounted: number;
}

function within(type: protobuf.Type): Nesting {
  const nested = type.nestedArray.filter((inner) => inner instanceof protobuf.Type);
  const level = nested.filter((inner) => !isGroup(inner) && !isEntry(inner));
  return { level, uncounted: nested.length - level.length };
}
