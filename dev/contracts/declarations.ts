/** Generator of contracts/index.d.ts from the JSON Schemas of contracts/. */
import { CONTRACTS, readSchema } from './contracts.ts';
import { type JsonSchema, resolved } from './json-schema.ts';

const HEAD = `/**
 * Types of the records on the topics: entry \`content-review-connector/contracts\` of the package.
 * Generated from the JSON Schemas in this folder: change the schemas and run npm run generate.
 */
`;
export const DECLARATIONS = new URL('../../contracts/index.d.ts', import.meta.url);
/** Maximum length of a comment line. */
const LINE_LENGTH = 97;

/** Renders DECLARATIONS. */
export function renderedDeclarations(): string {
  const known = new Map<string, string>();
  const repeated = new Map<string, string>();
  const parts = CONTRACTS.flatMap(({ name }) => declarationsOf(readSchema(name))).filter((part) => {
    const [, name = '', body = part] = /export interface (\w+) (\{.*\})\n$/s.exec(part) ?? [];
    const same = known.get(body);
    if (same === undefined) known.set(body, name);
    else repeated.set(name, same);
    return same === undefined;
  });
  // Interfaces that differ only in their names become one.
  return [HEAD, ...parts].join('\n').replace(/\w+/g, (word) => repeated.get(word) ?? word);
}

function declarationsOf(root: JsonSchema): string[] {
  const name = pascal(root.title ?? '');
  const types = new Types(root, name);
  const nested = Object.values(root.$defs ?? {}).filter(isObject);
  const parts = nested.map((schema) => types.interface(types.nameOf(schema), schema));
  if (root.oneOf === undefined) return [...parts, types.interface(name, root)];
  const cases = root.oneOf.map((one) => `  | {\n${types.members(one, '      ')}    }`);
  const error = `${name}Error`;
  const ending = cases.join('\n').replaceAll(error, 'Reason');
  return [
    ...parts,
    `/** Members that depend on the status. */\ntype Ending<Reason> =\n${ending};\n`,
    types.interface(`${name}Members`, root, 'Members of records of every status.'),
    `${comment(root.description, '')}export type ${name} = ${name}Members & Ending<${error}>;\n`,
  ];
}

class Types {
  readonly #root: JsonSchema;
  readonly #name: string;

  constructor(root: JsonSchema, name: string) {
    this.#root = root;
    this.#name = name;
  }

  nameOf({ title = '' }: JsonSchema): string {
    return `${this.#name}${pascal(title)}`;
  }

  interface(name: string, schema: JsonSchema, about = schema.description): string {
    return `${comment(about, '')}export interface ${name} {\n${this.members(schema, '  ')}}\n`;
  }

  members({ properties = {}, required }: JsonSchema, indent: string): string {
    return Object.entries(properties)
      .map(([member, schema]) => {
        const key = /^[a-z_]\w*$/i.test(member) ? member : `'${member}'`;
        // Cases of a union only restrict members that are always present.
        const optional = required === undefined || required.includes(member) ? '' : '?';
        return `${comment(schema.description, indent)}${wrapped(`${indent}readonly ${key}${optional}:`, this.#type(schema), indent)}`;
      })
      .join('');
  }

  #type(schema: JsonSchema): string {
    const found = resolved(schema, this.#root);
    if (found !== schema && isObject(found)) return this.nameOf(found);
    if (found.const !== undefined) return literal(found.const);
    if (found.enum !== undefined) return found.enum.map(literal).join(' | ');
    const alternatives = found.anyOf ?? found.oneOf;
    if (alternatives !== undefined) return this.#union(alternatives);
    return [found.type ?? 'any']
      .flat()
      .map((type) => this.#typeOf(type, found))
      .join(' | ');
  }

  /** Returns a union of known values and string, so that editors offer the values and the compiler accepts others. */
  #union(alternatives: readonly JsonSchema[]): string {
    const open = alternatives.some((one) => one.enum !== undefined);
    const types = alternatives.map((one) =>
      open && one.enum === undefined ? '(string & Record<never, never>)' : this.#type(one),
    );
    return types.sort((a, b) => Number(a === 'null') - Number(b === 'null')).join(' | ');
  }

  #typeOf(type: string, { items }: JsonSchema): string {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'null':
        return type;
      case 'integer':
      case 'number':
        return 'number';
      case 'array':
        return `readonly ${this.#type(items ?? {})}[]`;
      case 'object':
        return 'Readonly<Record<string, unknown>>';
      default:
        throw new Error(`no declaration for the type "${type}"`);
    }
  }
}

/** Returns a member, broken into lines as the formatter would break it. */
function wrapped(head: string, type: string, indent: string): string {
  if (head.length + type.length < LINE_LENGTH) return `${head} ${type};\n`;
  return `${head}\n${type
    .split(' | ')
    .map((one) => `${indent}  | ${one}`)
    .join('\n')};\n`;
}

const isObject = (schema: JsonSchema): boolean => schema.properties !== undefined;

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : JSON.stringify(value);

/** Turns `Looked-up decision` into `LookedUpDecision`. */
const pascal = (title: string): string =>
  title.replace(/(?:^|[^a-z])([a-z])/gi, (_all, letter: string) => letter.toUpperCase());

function comment(text: string | undefined, indent: string): string {
  if (text === undefined) return '';
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) as string;
    if (line !== '' && line.length + word.length >= LINE_LENGTH - indent.length) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  if (lines.length === 1) return `${indent}/** ${text} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}
