/** A registered Protobuf schema with everything that it imports, understood by protobufjs. */
import { createRequire } from 'node:module';
import protobuf from 'protobufjs';
import { type ResolvedSchema, UnusableSchema } from '../../registry/index.ts';
import { descriptorText, isDescriptor } from './descriptor-text.ts';
import { essentialText } from './essential-text.ts';
import { googleType } from './google-types.ts';

/** Files that only say how to annotate schemas: nothing in a payload is of their types. */
const ANNOTATIONS =
  /^(?:confluent\/meta|google\/api\/[a-z_]+|buf\/validate\/[a-z_/]+|validate\/validate|gogoproto\/gogo)\.proto$/;
/** Every client of Confluent's has these, and some by the path that they had before. */
const CONFLUENT_TYPES: Readonly<Record<string, string>> = {
  decimal: 'message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }',
  variant: 'message Variant { bytes metadata = 1; bytes value = 2; }',
};
/** Beside those that protobufjs has at hand. */
const GOOGLE_FILES = /^google\/protobuf\/(?:api|descriptor|source_context|type)\.proto$/;
const MAX_MESSAGE_CHARACTERS = 300;

const load = createRequire(import.meta.url);

export interface SchemaRoot {
  readonly root: protobuf.Root;
  /** The messages of the schema's own file that are in no other message, in their order. */
  readonly messages: readonly protobuf.Type[];
}

/** @throws UnusableSchema, whatever is wrong: a schema that is there and cannot be understood will not be by waiting */
export function schemaRoot(schema: ResolvedSchema): SchemaRoot {
  try {
    return understood(schema);
  } catch (error) {
    throw error instanceof UnusableSchema ? error : unusable(error);
  }
}

function understood(schema: ResolvedSchema): SchemaRoot {
  const root = new protobuf.Root();
  const texts = new Map(schema.imports.map(({ name, text }) => [name, text]));
  const seen = new Set<string>();
  const add = (name: string, text: string): string | undefined => {
    const parsed = parse(root, name, isDescriptor(text) ? descriptorText(text) : text);
    for (const imported of [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])]) {
      if (seen.has(imported)) continue;
      seen.add(imported);
      const registered = texts.get(imported) ?? builtIn(imported);
      if (registered !== undefined) add(imported, registered);
      else if (!addCommon(root, imported) && !ANNOTATIONS.test(imported)) {
        throw new UnusableSchema(
          `it imports ${imported}, which it does not refer to in the registry`,
        );
      }
    }
    return parsed.package;
  };
  // No import has this name.
  const own = '';
  const packageName = add(own, schema.text);
  root.resolveAll();
  const scope = packageName === undefined ? root : root.lookup(`.${packageName}`);
  const nested = scope instanceof protobuf.Namespace ? scope.nestedArray : [];
  return {
    root,
    messages: nested.filter(
      (type): type is protobuf.Type => type instanceof protobuf.Type && type.filename === own,
    ),
  };
}

function builtIn(name: string): string | undefined {
  const [, plural, type = ''] = /^confluent\/type(s?)\/(decimal|variant)\.proto$/.exec(name) ?? [];
  if (type === '') return googleType(name);
  if (plural === 's') return `import public "confluent/type/${type}.proto";`;
  return `syntax = "proto3"; package confluent.type; ${CONFLUENT_TYPES[type]}`;
}

/** Adds what protobufjs brings of google/protobuf. */
function addCommon(root: protobuf.Root, name: string): boolean {
  const common =
    protobuf.common.get(name) ??
    (GOOGLE_FILES.test(name) ? load(`protobufjs/${name.replace('.proto', '.json')}`) : null);
  if (common === null) return false;
  root.addJSON((common as { readonly nested: Record<string, protobuf.AnyNestedObject> }).nested);
  return true;
}

function parse(root: protobuf.Root, name: string, text: string): protobuf.IParserResult {
  const parser = protobuf.parse as typeof protobuf.parse & { filename: string | null };
  parser.filename = name;
  try {
    return protobuf.parse(essentialText(text), root, { keepCase: true });
  } finally {
    parser.filename = null;
  }
}

/** protobufjs says what it did not expect; of some broken texts it says only what went wrong inside it. */
function unusable(error: unknown): UnusableSchema {
  const said =
    error instanceof Error && !(error instanceof TypeError)
      ? error.message.slice(0, MAX_MESSAGE_CHARACTERS)
      : '';
  return new UnusableSchema(said === '' ? 'it is no .proto file that can be understood' : said);
}
