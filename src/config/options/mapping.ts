/** `pipelines[].source.mapping`: where the parts of an event are. */
import { expressionProblem } from '../../events/expression/index.ts';
import { group, type ValueOption, value } from '../option.ts';
import { Refusal } from '../units.ts';
import { choice, flag, text } from '../values.ts';
import { membersOf, parseFields, parseTypeMap } from './mapping-values.ts';

const EXPRESSION = 'a JMESPath expression, such as content or post."a.b".body (docs/mapping.md)';

export type TypeOption =
  | { readonly constant: string }
  | {
      readonly field: string;
      readonly map?: Readonly<Record<string, string>>;
      readonly otherwise?: string;
    };
export type ObjectOption = string | { readonly fields: Readonly<Record<string, string>> };

export function mappingOptions() {
  return group('Where the parts of an event are: expressions in JMESPath (docs/mapping.md).', {
    content: expression('Of a review: the text or the URL.', 'content'),
    contentKind: choice({
      help: 'url: content must be an absolute URL of http or https, or the record becomes a dead letter.',
      of: ['text', 'url'],
      fallback: 'text',
    }),
    type: value<TypeOption>({
      help: 'The content type, which decides the batch, or the type of an imported record: found in the event, perhaps by way of a map from what stands there, or the same for all events.',
      allowed:
        '{field: EXPRESSION}, {field: EXPRESSION, map: {VALUE: TYPE, …}, otherwise: TYPE} or {constant: TYPE}',
      fallback: { field: 'type' },
      show: (type) =>
        'field' in type && type.map === undefined ? `{field: ${type.field}}` : JSON.stringify(type),
      parse: parseType,
    }),
    data: objectExpression(
      'Of an import: the data of the record, an object, or its fields.',
      'data',
    ),
    decisionId: fieldOr('value', {
      help: 'Of a lookup: where the id of the decision is.',
      allowed: 'value (the whole value is the id), or {field: EXPRESSION}',
    }),
    metadata: objectExpression(
      'An object that comes back with the decision, or its fields; an event may be without.',
      'metadata',
    ),
    flatten: flag({
      help: 'Whether nested objects in the metadata become keys, and so columns, of their own: author.id. Decisions have them so too.',
      fallback: false,
    }),
    flattenSeparator: text({
      help: 'What stands between the names of such a key.',
      allowed: '1 to 8 characters',
      fallback: '.',
      check: (separator) => (separator.length <= 8 ? undefined : ''),
    }),
    expectedResult: expression(
      'The result that the producer expects, for comparison; an event may be without.',
      'expected_result',
    ),
  });
}

/** `none`, or an expression that is true for the records that are wanted. */
export function filterOption() {
  return value<string | undefined>({
    help: 'Which records are wanted: an expression that is true for them. Where it is false or null a record is skipped and counted, with no terminal record; anything else is a mistake, and a dead letter.',
    allowed: `none, or ${EXPRESSION.replace('content or post."a.b".body', "status == 'public'")}`,
    fallback: 'none',
    show: (filter) => filter ?? 'none',
    parse: (raw) => (raw === 'none' ? undefined : parseExpression(raw)),
  });
}

/** In the typed configuration undefined for the word, or the expression. */
export function fieldOr(
  word: string,
  spec: { readonly help: string; readonly allowed: string },
): ValueOption<string | undefined> {
  return value<string | undefined>({
    ...spec,
    fallback: word,
    show: (field) => (field === undefined ? word : `{field: ${field}}`),
    parse: (raw) => {
      if (raw === word) return undefined;
      const members = membersOf(raw, ['field']);
      return members instanceof Refusal ? members : parseExpression(members.field, 'field');
    },
  });
}

function expression(help: string, fallback: string): ValueOption<string> {
  return value({ help, fallback, allowed: EXPRESSION, parse: (raw) => parseExpression(raw) });
}

function objectExpression(help: string, fallback: string): ValueOption<ObjectOption> {
  return value<ObjectOption>({
    help,
    fallback,
    allowed: `${EXPRESSION}, or {fields: {NAME: EXPRESSION, …}}`,
    show: (shown) => (typeof shown === 'string' ? shown : JSON.stringify(shown)),
    parse: (raw) => {
      if (typeof raw === 'string') return parseExpression(raw);
      const members = membersOf(raw, ['fields']);
      if (members instanceof Refusal) return members;
      const fields = parseFields(members.fields, parseExpression);
      return fields instanceof Refusal ? fields : { fields };
    },
  });
}

function parseExpression(raw: unknown, name?: string): string | Refusal {
  const where = name === undefined ? '' : `${name}: `;
  if (typeof raw !== 'string' || raw.trim() === '')
    return new Refusal(name === undefined ? '' : `${name} is an expression, a text`);
  const problem = expressionProblem(raw);
  return problem === undefined ? raw : new Refusal(`${where}${problem}`);
}

function parseType(raw: unknown): TypeOption | Refusal {
  const members = membersOf(raw, ['field', 'constant', 'map', 'otherwise']);
  if (members instanceof Refusal) return members;
  const { field, constant, map, otherwise } = members;
  if ((field === undefined) === (constant === undefined))
    return new Refusal('exactly one of the two, field or constant');
  if (constant !== undefined) {
    if (map !== undefined || otherwise !== undefined)
      return new Refusal('map and otherwise go with field');
    return isText(constant) ? { constant } : new Refusal('constant is a text');
  }
  const found = parseExpression(field, 'field');
  if (found instanceof Refusal) return found;
  if (map === undefined)
    return otherwise === undefined ? { field: found } : new Refusal('otherwise goes with map');
  const types = parseTypeMap(map);
  if (types instanceof Refusal) return types;
  if (otherwise === undefined) return { field: found, map: types };
  return isText(otherwise)
    ? { field: found, map: types, otherwise }
    : new Refusal('otherwise is a type, a text');
}

function isText(raw: unknown): raw is string {
  return typeof raw === 'string' && raw.trim() !== '';
}
