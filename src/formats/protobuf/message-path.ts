/** Which message of a file a record's message indexes name. */
import protobuf from 'protobufjs';

export type Found =
  | { readonly type: protobuf.Type; readonly objection?: never }
  | { readonly type?: never; readonly objection: string };

/**
 * Clients do not count alike: for those that count descriptors (Python, Go, .NET) the entries of a map and the content of a group
 * are messages too, for Java they are not, and a registry that prints a schema anew moves them. So an index can mean any message
 * that stands at most as many places before it as there are maps and groups. Where that is more than one, guessing could read a
 * record as something else.
 */
export function messageAt(messages: readonly protobuf.Type[], indexes: readonly number[]): Found {
  let level = messages;
  let uncounted = 0;
  let found: protobuf.Type | undefined;
  for (const index of indexes) {
    const candidates = level.filter((_, place) => place <= index && index <= place + uncounted);
    const [only, ...others] = candidates;
    if (only === undefined) return { objection: 'the schema has no message at the indexes of the record' };
    if (others.length > 0) {
      return {
        objection: `the indexes of the record may mean ${only.name} or ${others[0]?.name}, because ${found?.name} has maps or groups, which not every client counts: move the message out of ${found?.name}`,
      };
    }
    found = only;
    const nested = only.nestedArray.filter((type): type is protobuf.Type => type instanceof protobuf.Type);
    level = nested.filter((type) => !isGroup(type));
    uncounted = nested.length - level.length + only.fieldsArray.filter((field) => field.map).length;
  }
  return found === undefined ? { objection: 'the record has no message indexes' } : { type: found };
}

/** Whether a message is the content of a proto2 group. protobufjs knows, its types do not. */
export function isGroup(type: protobuf.Type): boolean {
  return (type as { readonly group?: unknown }).group === true;
}
