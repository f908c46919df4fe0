/**
 * A FileDescriptorProto as the .proto file that it was made from: clients in Python, Go and .NET register descriptors, and not
 * every registry turns them into text. Options are left out, but for those that change how data is read.
 */
import descriptor from 'protobufjs/ext/descriptor/index.js';
import { UnusableSchema } from '../../registry/index.ts';

interface FileShape {
  readonly package?: string;
  readonly syntax?: string;
  readonly edition?: unknown;
  readonly dependency?: readonly string[];
  readonly messageType?: readonly MessageShape[];
  readonly enumType?: readonly EnumShape[];
  readonly extension?: readonly FieldShape[];
}

interface MessageShape {
  readonly name: string;
  readonly field?: readonly FieldShape[];
  readonly extension?: readonly FieldShape[];
  readonly nestedType?: readonly MessageShape[];
  readonly enumType?: readonly EnumShape[];
  readonly extensionRange?: readonly { readonly start: number; readonly end: number }[];
  readonly oneofDecl?: readonly { readonly name: string }[];
  readonly options?: { readonly mapEntry?: boolean };
}

interface EnumShape {
  readonly name: string;
  readonly value?: readonly { readonly name: string; readonly number?: number }[];
}

interface FieldShape {
  readonly name: string;
  readonly number: number;
  readonly label?: number;
  readonly type: number;
  readonly typeName?: string;
  readonly extendee?: string;
  readonly oneofIndex?: number;
  readonly proto3Optional?: boolean;
}

/** Numbers of FieldDescriptorProto.Type. */
const TYPES: readonly string[] = [
  '',
  ...[
    'double',
    'float',
    'int64',
    'uint64',
    'int32',
    'fixed64',
    'fixed32',
    'bool',
    'string',
    'group',
    'message',
    'bytes',
  ],
  ...['uint32', 'enum', 'sfixed32', 'sfixed64', 'sint32', 'sint64'],
];
const GROUP = 10;
const LABELS: readonly string[] = ['', 'optional', 'required', 'repeated'];

/** Whether a registered schema is a descriptor in base64 rather than a .proto file. A descriptor begins with its file's name. */
export function isDescriptor(schema: string): boolean {
  return /^C[g-v][A-Za-z0-9+/]*={0,2}$/.test(schema.trim());
}

/** @throws UnusableSchema */
export function descriptorText(base64: string): string {
  const file = descriptor.FileDescriptorProto.decode(
    Buffer.from(base64, 'base64'),
  ) as unknown as FileShape;
  const syntax = file.syntax === undefined || file.syntax === '' ? 'proto2' : file.syntax;
  if (syntax !== 'proto2' && syntax !== 'proto3') {
    throw new UnusableSchema(
      `it is a descriptor with ${syntax}: register the .proto file itself, or use proto2 or proto3`,
    );
  }
  const inFile: Context = { proto3: syntax === 'proto3' };
  return [
    `syntax = "${syntax}";`,
    ...(file.package ? [`package ${file.package};`] : []),
    ...(file.dependency ?? []).map((name) => `import ${JSON.stringify(name)};`),
    ...(file.messageType ?? []).map((message) => messageText(message, inFile)),
    ...(file.enumType ?? []).map(enumText),
    ...extensionTexts(file.extension ?? [], inFile),
  ].join('\n');
}

interface Context {
  readonly proto3: boolean;
}

function messageText(message: MessageShape, context: Context): string {
  return `message ${message.name} {\n${bodyText(message, context)}\n}`;
}

function bodyText(message: MessageShape, context: Context): string {
  const nested = message.nestedType ?? [];
  const fields = message.field ?? [];
  const inline = new Set(fields.flatMap((field) => inlineType(field, nested) ?? []));
  const text = (field: FieldShape, rule?: string) =>
    fieldText(field, inlineType(field, nested), context, rule);
  const oneofs = (message.oneofDecl ?? []).map(({ name }, index) => {
    const members = fields.filter((field) => inOneof(field) && field.oneofIndex === index);
    return members.length === 0
      ? ''
      : `oneof ${name} {\n${members.map((field) => text(field, '')).join('\n')}\n}`;
  });
  return [
    ...fields.filter((field) => !inOneof(field)).map((field) => text(field)),
    ...oneofs,
    ...nested.filter((type) => !inline.has(type)).map((type) => messageText(type, context)),
    ...(message.enumType ?? []).map(enumText),
    ...(message.extensionRange ?? []).map(({ start, end }) => `extensions ${start} to ${end - 1};`),
    ...extensionTexts(message.extension ?? [], context),
  ].join('\n');
}

/** A proto3 optional field is alone in a oneof that nobody wrote. */
function inOneof(field: FieldShape): boolean {
  return field.proto3Optional !== true && Object.hasOwn(field, 'oneofIndex');
}

/** The type of a map's entries, or of a group, which is written where the field is. */
function inlineType(field: FieldShape, nested: readonly MessageShape[]): MessageShape | undefined {
  const found = nested.find(({ name }) => field.typeName?.endsWith(`.${name}`));
  return found?.options?.mapEntry === true || field.type === GROUP ? found : undefined;
}

function fieldText(
  field: FieldShape,
  inline: MessageShape | undefined,
  context: Context,
  rule = ruleOf(field, context),
): string {
  const { number } = field;
  if (inline?.options?.mapEntry === true) {
    const [key, value] = inline.field as [FieldShape, FieldShape];
    return `map<${typeText(key)}, ${typeText(value)}> ${field.name} = ${number};`;
  }
  if (field.type === GROUP && inline !== undefined) {
    return `${rule} group ${inline.name} = ${number} {\n${bodyText(inline, context)}\n}`;
  }
  return `${rule} ${typeText(field)} ${field.name} = ${number};`;
}

function ruleOf(field: FieldShape, { proto3 }: Context): string {
  const label = LABELS[field.label ?? 1] ?? '';
  return proto3 && label === 'optional' && field.proto3Optional !== true ? '' : label;
}

function typeText({ type, typeName }: FieldShape): string {
  return typeName ? typeName : (TYPES[type] ?? '');
}

/** Two names of a number are allowed: whatever the file says of it. */
function enumText({ name, value = [] }: EnumShape): string {
  const values = value.map((one) => `${one.name} = ${one.number ?? 0};`);
  return `enum ${name} {\noption allow_alias = true;\n${values.join('\n')}\n}`;
}

function extensionTexts(extensions: readonly FieldShape[], context: Context): string[] {
  return extensions.map((field) => {
    if (field.type === GROUP) throw new UnusableSchema(`its extension ${field.name} is a group`);
    return `extend ${field.extendee} {\n${fieldText(field, undefined, context)}\n}`;
  });
}
