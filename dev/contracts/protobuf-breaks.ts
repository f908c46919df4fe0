/** Changes of a Protobuf file that break those who compiled the published one, or records written with it. */
import protobuf from 'protobufjs';
import type { Break } from './break.ts';

/** @param published text of a .proto file */
export function protobufBreaks(published: string, current: string): Break[] {
  const [older, newer] = [parsed(published), parsed(current)];
  if (older.scope !== newer.scope)
    return [
      {
        at: '/',
        what: `the package was ${older.scope}, and is ${newer.scope}: generated code refers to it`,
      },
    ];
  return inNamespace(older.space, newer.space, '');
}

function parsed(text: string): { scope: string; space: protobuf.NamespaceBase } {
  const { root, package: scope = '' } = protobuf.parse(text, { keepCase: true });
  root.resolveAll();
  return { scope, space: scope === '' ? root : (root.lookup(scope) as protobuf.Namespace) };
}

function inNamespace(
  older: protobuf.NamespaceBase,
  newer: protobuf.NamespaceBase,
  at: string,
): Break[] {
  const breaks: Break[] = [];
  for (const [index, one] of older.nestedArray.entries()) {
    const where = `${at}/${one.name}`;
    const now = newer.nested?.[one.name];
    if (one instanceof protobuf.Type) {
      if (!(now instanceof protobuf.Type))
        breaks.push({ at: where, what: 'the message was removed' });
      else breaks.push(...inMessage(one, now, where), ...inNamespace(one, now, where));
      // A registry's framing names messages by their place.
      if (
        newer.nestedArray[index]?.name !== one.name &&
        now instanceof protobuf.Type &&
        messageIndex(older, one) !== messageIndex(newer, now)
      )
        breaks.push({
          at: where,
          what: 'has another place among its messages: records on the topic name it by that',
        });
    } else if (one instanceof protobuf.Enum) {
      if (!(now instanceof protobuf.Enum)) breaks.push({ at: where, what: 'the enum was removed' });
      else breaks.push(...inEnum(one, now, where));
    }
  }
  return breaks;
}

const messageIndex = (space: protobuf.NamespaceBase, message: protobuf.Type): number =>
  space.nestedArray.filter((one) => one instanceof protobuf.Type).indexOf(message);

function inMessage(older: protobuf.Type, newer: protobuf.Type, at: string): Break[] {
  const breaks: Break[] = [];
  for (const field of older.fieldsArray) {
    const where = `${at}.${field.name}`;
    const now = newer.fieldsById[field.id];
    if (now === undefined) {
      const reserved = reservesNumber(newer, field.id) && newer.isReservedName(field.name);
      const advice = reserved
        ? ''
        : `, and ${field.id} and "${field.name}" are not reserved: another field could take them`;
      breaks.push({
        at: where,
        what: `number ${field.id} was removed: consumers would miss it${advice}`,
      });
    } else if (now.name !== field.name) {
      breaks.push({
        at: where,
        what: `number ${field.id} is now "${now.name}": what was written as one would be read as the other`,
      });
    } else if (typeOf(now) !== typeOf(field)) {
      breaks.push({ at: where, what: `was ${typeOf(field)}, and is ${typeOf(now)}` });
    }
  }
  for (const field of newer.fieldsArray) {
    if (reservesNumber(older, field.id) || older.isReservedName(field.name))
      breaks.push({
        at: `${at}.${field.name}`,
        what: `takes number ${field.id} or a name that was reserved: old records may hold it`,
      });
    if (field.required)
      breaks.push({ at: `${at}.${field.name}`, what: 'is required: old records may not hold it' });
  }
  for (const reserved of older.reserved ?? []) {
    const kept =
      typeof reserved === 'string'
        ? newer.isReservedName(reserved)
        : numbersOf(reserved).every((id) => reservesNumber(newer, id));
    if (!kept) breaks.push({ at, what: `no longer reserves ${[reserved].flat().join(' to ')}` });
  }
  return breaks;
}

/** Ranges of a file have their ends in them; protobufjs's own isReservedId takes the end for the first that is free. */
const reservesNumber = ({ reserved = [] }: protobuf.Type, id: number): boolean =>
  reserved.some(
    (range) =>
      typeof range !== 'string' && (range[0] ?? 0) <= id && id <= (range[1] ?? range[0] ?? 0),
  );

/** The ends are enough: a range cannot be cut in its middle without changing them. */
const numbersOf = ([first = 0, last = first]: readonly number[]): number[] => [first, last];

function inEnum(older: protobuf.Enum, newer: protobuf.Enum, at: string): Break[] {
  return Object.entries(older.values).flatMap(([name, number]) => {
    const now = newer.values[name];
    if (now === number) return [];
    return [
      {
        at: `${at}.${name}`,
        what: now === undefined ? 'was removed' : `was number ${number}, and is ${now}`,
      },
    ];
  });
}

/** With what decides how it is written, and whether it may be missing. */
function typeOf(field: protobuf.Field): string {
  const type = field.resolvedType?.fullName ?? field.type;
  if (field instanceof protobuf.MapField) return `map<${field.keyType}, ${type}>`;
  if (field.repeated) return `repeated ${type}`;
  if (field.options?.proto3_optional === true) return `optional ${type}`;
  return field.partOf === null ? type : `${type} in oneof ${field.partOf.name}`;
}
