/** Parses registered Protobuf schemas and all their imports with protobufjs. */
import { createRequire } from 'node:module';
import protobuf from 'protobufjs';
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { type ResolvedSchema, UnusableSchema } from '../registry/index.ts';

/**
 * Files that the registry's clients bundle, so schemas may import them unregistered. Only the
 * names and numbers of the fields are here, without comments and options. The files of google/type
 * are from googleapis (Apache License 2.0, Copyright Google LLC).
 */
const FILES: Readonly<Record<string, string>> = {
  'confluent/type/decimal':
    'message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }',
  'confluent/type/variant': 'message Variant { bytes metadata = 1; bytes value = 2; }',
  'google/type/date': 'message Date { int32 year = 1; int32 month = 2; int32 day = 3; }',
  'google/type/datetime':
    'import "google/protobuf/duration.proto"; message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; int32 seconds = 6; int32 nanos = 7; oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } } message TimeZone { string id = 1; string version = 2; }',
  'google/type/dayofweek':
    'enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; FRIDAY = 5; SATURDAY = 6; SUNDAY = 7; }',
  'google/type/decimal': 'message Decimal { string value = 1; }',
  'google/type/interval':
    'import "google/protobuf/timestamp.proto"; message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }',
  'google/type/latlng': 'message LatLng { double latitude = 1; double longitude = 2; }',
  'google/type/money':
    'message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }',
  'google/type/month':
    'enum Month { MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6; JULY = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }',
  'google/type/phone_number':
    'message PhoneNumber { message ShortCode { string region_code = 1; string number = 2; } oneof kind { string e164_number = 1; ShortCode short_code = 2; } string extension = 3; }',
  'google/type/postal_address':
    'message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3; string postal_code = 4; string sorting_code = 5; string administrative_area = 6; string locality = 7; string sublocality = 8; repeated string address_lines = 9; repeated string recipients = 10; string organization = 11; }',
  'google/type/timeofday':
    'message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }',
};

/** Returns the file of FILES at this path, or undefined if there is none. @param name path in the import */
function bundledFile(name: string): string | undefined {
  const path = name.replace(/\.proto$/, '');
  // Confluent's files used to be in the directory `types`.
  const moved = path.replace(/^confluent\/types\//, 'confluent/type/');
  if (!Object.hasOwn(FILES, moved)) return undefined;
  if (moved !== path) return `import public "${moved}.proto";`;
  const space = path.split('/', 2).join('.');
  return `syntax = "proto3"; package ${space}; ${FILES[path]}`;
}

/** Files that only define annotations for schemas. No payload contains values of their types. */
const ANNOTATIONS =
  /^(?:confluent\/meta|google\/api\/[a-z_]+|buf\/validate\/[a-z_/]+|validate\/validate|gogoproto\/gogo)\.proto$/;
/** Files of Google in protobufjs's package that protobufjs does not load by itself. */
const GOOGLE_FILES = /^google\/protobuf\/(?:api|descriptor|source_context|type)\.proto$/;

const load = createRequire(import.meta.url);

/**
 * Returns the top-level messages of the schema's own file, in their order.
 * @throws UnusableSchema for any problem, because a retry cannot help
 */
export function messagesOf(schema: ResolvedSchema): readonly protobuf.Type[] {
  try {
    return understood(schema);
  } catch (error) {
    if (error instanceof UnusableSchema) throw error;
    // Some broken texts cause a TypeError inside protobufjs.
    const told = error instanceof Error && !(error instanceof TypeError) ? error.message : '';
    throw new UnusableSchema(told || 'it is not a valid .proto file');
  }
}

function understood(schema: ResolvedSchema): readonly protobuf.Type[] {
  const root = new protobuf.Root();
  const texts = new Map(schema.imports.map(({ name, text }) => [name, text]));
  const seen = new Set<string>();
  const addImports = (names: readonly string[]): void => {
    for (const name of names) {
      if (seen.has(name)) continue;
      seen.add(name);
      const text = texts.get(name) ?? bundledFile(name);
      if (text !== undefined) addImports(addFile(root, text).imports);
      else if (!addCommon(root, name) && !ANNOTATIONS.test(name))
        throw new UnusableSchema(
          `it imports ${name}, to which it has no reference in the registry`,
        );
    }
  };

  const { scope, imports } = addFile(root, schema.text);
  // The messages are collected before other files add theirs to the same package.
  const messages = scope.nestedArray.filter((one) => one instanceof protobuf.Type);
  addImports(imports);
  for (const type of typesIn(root)) replaceMaps(type);
  root.resolveAll();
  // Replaces protobufjs's constructor, which would create a list for each repeated field of each
  // empty message.
  for (const type of typesIn(root))
    if (!isEntry(type)) type.ctor = class extends protobuf.Message {};
  return messages;
}

function typesIn(scope: protobuf.NamespaceBase): protobuf.Type[] {
  return scope.nestedArray.flatMap((one) => [
    ...(one instanceof protobuf.Type ? [one] : []),
    ...(one instanceof protobuf.Namespace || one instanceof protobuf.Type ? typesIn(one) : []),
  ]);
}

const entries = new WeakSet<protobuf.Type>();

/** Returns true if a message is an entry of a map. */
export function isEntry(type: protobuf.Type): boolean {
  return entries.has(type);
}

/** Returns true if a message is the content of a proto2 group. protobufjs's types lack the property. */
export function isGroup(type: protobuf.Type): boolean {
  return (type as { readonly group?: unknown }).group === true;
}

/**
 * Replaces the maps of a message by lists of entries, which is how maps are encoded. protobufjs
 * would decode a map to an object, in which a small integer key takes kilobytes.
 */
function replaceMaps(type: protobuf.Type): void {
  const fields = Object.entries(type.fields);
  if (!fields.some(([, field]) => field instanceof protobuf.MapField)) return;
  for (const [name, field] of fields) {
    if (!(field instanceof protobuf.MapField)) continue;
    const entry = new protobuf.Type(`${name}_map_entry`);
    entries.add(entry);
    entry.add(new protobuf.Field('key', 1, field.keyType));
    entry.add(new protobuf.Field('value', 2, field.type));
    type.remove(field);
    type.add(entry);
    type.add(new protobuf.Field(name, field.id, entry.name, 'repeated'));
  }
  // Restores the field order of the file.
  type.fields = Object.fromEntries(
    fields.map(([name]) => [name, type.fields[name] as protobuf.Field]),
  );
}

interface AddedFile {
  readonly scope: protobuf.NamespaceBase;
  readonly imports: readonly string[];
}

/** Descriptor in base64. Descriptors begin with the name of their file. */
const DESCRIPTOR = /^C[g-v][A-Za-z0-9+/]*={0,2}$/;

/** @param text a .proto file, or its descriptor, which clients in Python, Go and .NET register instead */
function addFile(root: protobuf.Root, text: string): AddedFile {
  if (DESCRIPTOR.test(text.trim())) return addDescriptor(root, text);
  // protobufjs rejects empty statements. Removing semicolons from strings and comments too is harmless.
  const statements = text.replace(/(^|[;{])(?:[ \t]*;)+/g, '$1');
  const file = protobuf.parse(statements, root, { keepCase: true });
  return {
    scope: file.package === undefined ? root : root.define(file.package),
    imports: [...(file.imports ?? []), ...(file.weakImports ?? [])],
  };
}

/** Part of a FileDescriptorProto. */
interface FileDescriptor {
  readonly package: string;
  readonly syntax: string;
  readonly dependency: readonly string[];
  readonly messageType: readonly object[];
  readonly enumType: readonly object[];
  readonly extension: readonly object[];
}
/** Method that the extension protobufjs/ext/descriptor adds to the classes of protobufjs. */
interface FromDescriptor {
  fromDescriptor(
    from: object,
    context: { readonly edition: string; readonly keepCase: true },
  ): protobuf.ReflectionObject;
}

function addDescriptor(root: protobuf.Root, base64: string): AddedFile {
  const types: unknown = descriptor;
  const { FileDescriptorProto } = types as Record<string, protobuf.Type>;
  const decoded: unknown = FileDescriptorProto?.decode(Buffer.from(base64, 'base64'));
  const file = decoded as FileDescriptor;
  const edition = file.syntax === '' ? 'proto2' : file.syntax;
  if (edition !== 'proto2' && edition !== 'proto3') {
    throw new UnusableSchema(
      `it is a descriptor with ${edition}: register the .proto file itself, or use proto2 or proto3`,
    );
  }
  const scope = file.package === '' ? root : root.define(file.package);
  const add = (kind: unknown, parts: readonly object[]): void => {
    for (const part of parts)
      scope.add((kind as FromDescriptor).fromDescriptor(part, { edition, keepCase: true }));
  };
  add(protobuf.Type, file.messageType);
  add(protobuf.Enum, file.enumType);
  add(protobuf.Field, file.extension);
  return { scope, imports: file.dependency };
}

/** Adds a file of google/protobuf from protobufjs's package. Returns false if there is none. */
function addCommon(root: protobuf.Root, name: string): boolean {
  const common =
    protobuf.common.get(name) ??
    (GOOGLE_FILES.test(name) ? load(`protobufjs/${name.replace('.proto', '.json')}`) : null);
  if (common === null) return false;
  root.addJSON((common as { readonly nested: Record<string, protobuf.AnyNestedObject> }).nested);
  return true;
}
