/** Options that only some kinds of pipeline look at: set for another kind, they are a kind that was forgotten, or a wish that nobody fulfils. */

import { type Path, valueAt } from '../load/path.ts';
import type { Finding } from '../load/problem.ts';
import type { PipelineKindName } from '../options/pipeline.ts';

interface OwnOption {
  readonly path: Path;
  readonly of: readonly PipelineKindName[];
  /** What holds when it is not written. */
  readonly fallback: unknown;
  /** Its name in the file, when the typed configuration names the unit too. */
  readonly written?: string;
}

const OWN_OPTIONS: readonly OwnOption[] = [
  { path: ['source', 'types'], of: ['review', 'import'], fallback: [] },
  { path: ['source', 'mapping', 'content'], of: ['review'], fallback: 'content' },
  { path: ['source', 'mapping', 'type'], of: ['review', 'import'], fallback: { field: 'type' } },
  { path: ['source', 'mapping', 'data'], of: ['import'], fallback: 'data' },
  { path: ['source', 'mapping', 'decisionId'], of: ['lookup'], fallback: undefined },
  { path: ['source', 'mapping', 'metadata'], of: ['review'], fallback: 'metadata' },
  { path: ['source', 'mapping', 'expectedResult'], of: ['review'], fallback: 'expected_result' },
  { path: ['source', 'mapping', 'contentKind'], of: ['review'], fallback: 'text' },
  { path: ['source', 'mapping', 'flatten'], of: ['review'], fallback: false },
  {
    path: ['source', 'maxMetadataBytes'],
    of: ['review'],
    fallback: 1024 * 1024,
    written: 'maxMetadata',
  },
  { path: ['source', 'maxMetadataKeys'], of: ['review'], fallback: 1_000 },
  { path: ['batch', 'escapeFormulas'], of: ['review'], fallback: false },
  { path: ['batch', 'referenceColumn'], of: ['review'], fallback: 'connector_ref' },
  { path: ['review', 'resultColumn'], of: ['review'], fallback: '' },
  { path: ['output', 'includeContent'], of: ['review'], fallback: false },
];

/** @param pipeline as far as it could be understood; what is undefined is not there, or wrong for another reason. */
export function kindChecks(
  pipeline: { readonly kind?: PipelineKindName | undefined },
  path: Path,
): Finding[] {
  const { kind } = pipeline;
  if (kind === undefined) return [];
  return OWN_OPTIONS.flatMap(({ path: option, of, fallback, written }): Finding[] => {
    const value = valueAt(pipeline, option);
    if (
      of.includes(kind) ||
      value === undefined ||
      JSON.stringify(value) === JSON.stringify(fallback)
    )
      return [];
    return [
      {
        path: [...path, ...option.slice(0, -1), written ?? option.at(-1) ?? ''],
        message: `is an option of kind ${of.join(' and ')}; this pipeline is of kind ${kind}`,
      },
    ];
  });
}
