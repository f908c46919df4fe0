/** Avro and Protobuf say what the JSON says: all of it, and nothing else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import protobuf from 'protobufjs';
import { CONTRACTS, type ContractName, readSchema } from '../../../dev/contracts/contracts.ts';
import { type JsonSchema, resolved } from '../../../dev/contracts/json-schema.ts';
import { contractFile } from '../../support/contracts.ts';

const VALUES = CONTRACTS.filter(({ value }) => value).map(({ name }) => name);
function protobufType(name: ContractName): protobuf.Type {
  const { root, package: scope } = protobuf.parse(contractFile(`protobuf/${name}.proto`), {
    keepCase: true,
  });
  const pascal = name.replace(/(?:^|-)([a-z])/g, (_all, letter: string) => letter.toUpperCase());
  return root.lookupType(`${scope}.${pascal}`);
}

/** Names of all fields, `/` between levels. */
function jsonFields(schema: JsonSchema, root: JsonSchema, at = ''): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const inner = [member, member.items ?? {}, ...(member.oneOf ?? [])].map((part) =>
      resolved(part, root),
    );
    return [`${at}/${name}`, ...inner.flatMap((part) => jsonFields(part, root, `${at}/${name}`))];
  });
}

interface AvroSchema {
  readonly type: unknown;
  readonly fields?: readonly { readonly name: string; readonly type: unknown }[];
  readonly items?: unknown;
}

function avroFields(schema: unknown, at = ''): string[] {
  if (Array.isArray(schema)) return schema.flatMap((one) => avroFields(one, at));
  const { fields = [], items } = schema as AvroSchema;
  const deeper = items === undefined ? [] : avroFields(items, at);
  return [
    ...deeper,
    ...fields.flatMap(({ name, type }) => [`${at}/${name}`, ...avroFields(type, `${at}/${name}`)]),
  ];
}

function protobufFields(type: protobuf.Type, at = ''): string[] {
  return type.fieldsArray.flatMap((field) => {
    const { resolvedType, name } = field.resolve();
    const inner =
      resolvedType instanceof protobuf.Type ? protobufFields(resolvedType, `${at}/${name}`) : [];
    return [`${at}/${name}`, ...inner];
  });
}

for (const name of VALUES) {
  test(`${name}: the Avro and Protobuf schemas have the fields of the JSON Schema, and of labels what else there is`, () => {
    const root = readSchema(name);
    const wanted = [
      ...jsonFields(root, root),
      ...(root.$defs?.label === undefined ? [] : ['/labels/extra']),
    ].sort();
    assert.deepEqual(avroFields(JSON.parse(contractFile(`avro/${name}.avsc`))).sort(), wanted);
    const plain = (field: string) =>
      field.replace(/_ms$/, '').replace(/(metadata|extra)_json$/, '$1');
    assert.deepEqual(protobufFields(protobufType(name)).map(plain).sort(), wanted);
  });

  test(`${name}: one type a file without references, in the namespace of its version`, () => {
    const proto = contractFile(`protobuf/${name}.proto`);
    const { imports, weakImports, package: scope, root } = protobuf.parse(proto);
    assert.deepEqual([scope, imports ?? [], weakImports ?? []], ['content_review.v1', [], []]);
    const space = root.lookup('content_review.v1') as protobuf.Namespace;
    assert.equal(space.nestedArray.length, 1, 'the index of the message in its file must be 0');
    assert.equal(JSON.parse(contractFile(`avro/${name}.avsc`)).namespace, 'content_review.v1');
  });
}
