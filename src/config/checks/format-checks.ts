/** Mappings that cannot find anything in values of the configured format: each record would become a dead letter. */
import type { Partially } from '../load/draft.ts';
import type { Path } from '../load/path.ts';
import type { Finding } from '../load/problem.ts';
import type { PipelineConfig } from '../schema.ts';

type Draft = Pick<Partially<PipelineConfig>, 'kind' | 'source'>;

export function formatChecks({ kind, source }: Draft, path: Path): Finding[] {
  const mapping = source?.mapping;
  const at = (option: string, message: string): Finding => ({
    path: [...path, 'source', 'mapping', option],
    message,
  });
  const type = mapping?.type;
  const field = type !== undefined && 'field' in type ? type.field : undefined;
  switch (source?.format) {
    case 'text':
      if (kind === 'import') {
        return [
          {
            path: [...path, 'source', 'format'],
            message: 'an import needs objects, and text has none: choose another format',
          },
        ];
      }
      if (kind !== 'review' || field === undefined || !PLAIN_NAME.test(field)) return [];
      return [
        at('type', "a text has no fields: write {constant: TYPE}, or {field: header('NAME')}"),
      ];
    case 'cloudevents':
      if (kind !== 'review' || mapping?.content !== 'content') return [];
      return [
        at(
          'content',
          'CloudEvents have the payload in data: write data.content, or where else the content is',
        ),
      ];
    default:
      return [];
  }
}

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
