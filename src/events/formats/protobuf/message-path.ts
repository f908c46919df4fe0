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
    if (only === undefined)
      return { objection: 'the schema has no message at the indexes of the record' };
    if (others.length > 0) {
      return {
        objection: `the indexes of the record may mean ${only.name} or ${others[0]?.name}, because ${found?.name} has maps or groups, which not every client counts: move the message out of ${found?.name}`,
      };
    }
    found = only;
    ({ level, uncounted } = within(only));
  }
  return found === undefined ? { objection: 'the record has no message indexes' } : { type: found };
}

/** For each message in which an index may mean one message or another: that, and what to do. */
export function ambiguities(messages: readonly protobuf.Type[]): string[] {
  return messages.flatMap((type) => {
    const { level, uncounted } = within(type);
    const [least, most] = [level[0]?.name, level.at(-1)?.name];
    if (level.length < 2 || uncounted === 0) return ambiguities(level);
    const records = `records of ${level.length === 2 ? `${least} or ${most}` : `${least} to ${most}`} in ${type.name}`;
    const because = `because ${type.name} has maps or groups, which not every client counts: move them out of ${type.name}`;
    return [`${records} cannot always be told apart, ${because}`, ...ambiguities(level)];
  });
}

/** The messages in a message, and how many things there that only some clients count as such. */
function within(type: protobuf.Type): {
  readonly level: readonly protobuf.Type[];
  readonly uncounted: number;
} {
  const nested = type.nestedArray.filter(
    (inner): inner is protobuf.Type => inner instanceof protobuf.Type,
  );
  const level = nested.filter((inner) => !isGroup(inner));
  return {
    level,
    uncounted: nested.length - level.length + type.fieldsArray.filter((field) => field.map).length,
  };
}

/** Whether a message is the content of a proto2 group. protobufjs knows, its types do not. */
export function isGroup(type: protobuf.Type): boolean {
  return (type as { readonly group?: unknown }).group === true;
}
