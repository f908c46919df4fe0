/** `pipelines[].source.mapping`: location of the parts of an event. */
import { expressionProblem } from '../../events/expression/index.ts';
import { group, OptionRefusal, type Value, value, written } from '../option.ts';
import { mapOf, members, optional, partsSchema, text } from '../values.ts';

const EXPRESSION = 'a JMESPath expression, such as content or post."a.b".body (docs/mapping.md)';

type TypeOption =
  | { readonly constant: string }
  | {
      readonly field: string;
      readonly map?: Readonly<Record<string, string>>;
      readonly otherwise?: string;
    };

const TEXT = text({ help: '', allowed: 'a string' });
const FIELD = expression('');
const TYPE_PARTS = {
  field: FIELD,
  constant: TEXT,
  map: mapOf(TEXT, 'a type for each value'),
  otherwise: TEXT,
};

export const mappingOptions = group(
  'Location of each part of an event: expressions in JMESPath (docs/mapping.md).',
  {
    content: expression('Text or URL to review.', 'content'),
    type: value<TypeOption>({
      help: 'Type of the content or of an imported record: found in the event, optionally through a map, or constant.',
      allowed:
        '{field: EXPRESSION}, {field: EXPRESSION, map: {VALUE: TYPE, …}, otherwise: TYPE} or {constant: TYPE}',
      fallback: { field: 'type' },
      schema: partsSchema(TYPE_PARTS),
      show: (type) =>
        'field' in type && type.map === undefined ? `{field: ${type.field}}` : written(type),
      parse(raw, origin) {
        const { field, constant, map, otherwise } = members(raw, TYPE_PARTS, origin);
        if ((field === undefined) === (constant === undefined))
          throw new OptionRefusal('exactly one of field and constant is required');
        if (constant !== undefined && (map ?? otherwise) !== undefined)
          throw new OptionRefusal('map and otherwise require field');
        if (map === undefined && otherwise !== undefined)
          throw new OptionRefusal('otherwise requires map');
        if (field === undefined) return { constant: constant ?? '' };
        return { field, ...(map && { map }), ...(otherwise && { otherwise }) };
      },
    }),
    data: expression('Data of an imported record, an object.', 'data'),
    decisionId: fieldOr(
      'value',
      'Id of the decision to look up. value: the whole value is the id.',
    ),
    metadata: expression('Object to return in the decision; optional in an event.', 'metadata'),
    expectedResult: expression(
      'Result expected by the producer, for comparison; optional in an event.',
      'expected_result',
    ),
  },
);

export const filterOption = optional(
  expression(
    "Expression that is true for the records to process, such as status == 'public'. With false or null, a record is skipped and counted; with any other result, it becomes a dead letter.",
  ),
  'none',
);

/** Option with the value `{field: EXPRESSION}`, or `word`, which becomes undefined in the typed configuration. */
export function fieldOr(word: string, help: string): Value<string | undefined, ''> {
  return optional(
    value({
      help,
      allowed: '{field: EXPRESSION}',
      schema: partsSchema({ field: FIELD }),
      show: (field) => `{field: ${field}}`,
      parse(raw, origin) {
        const { field } = members(raw, { field: FIELD }, origin);
        if (field === undefined) throw new OptionRefusal('');
        return field;
      },
    }),
    word,
  );
}

/** Option with a JMESPath expression. */
export function expression(help: string, fallback?: string): Value<string, ''> {
  return text({
    help,
    allowed: EXPRESSION,
    check: expressionProblem,
    ...(fallback && { fallback }),
  });
}
