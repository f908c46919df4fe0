/** Options of formats of the output: set for another format, they are a format that was forgotten, or a wish that nobody fulfils. */

import type { Path } from '../load/path.ts';
import type { Finding } from '../load/problem.ts';
import { eventSourceOf, type OUTPUT_FORMATS, type SubjectOption } from '../options/output.ts';

interface PipelineDraft {
  readonly name?: string | undefined;
  readonly output?: OutputDraft | undefined;
}

interface OutputDraft {
  readonly format?: (typeof OUTPUT_FORMATS)[number] | undefined;
  readonly subject?: SubjectOption | { readonly name?: string | undefined } | undefined;
  readonly cloudEvents?:
    | { readonly mode?: string | undefined; readonly source?: string | undefined }
    | undefined;
}

/** @param pipeline as far as it could be understood; what is undefined is not there, or wrong for another reason. */
export function outputChecks({ name = '', output = {} }: PipelineDraft, path: Path): Finding[] {
  const { format, subject, cloudEvents } = output;
  const findings: Finding[] = [];
  if (format === undefined) return findings;
  const object = (option: string, of: string) =>
    findings.push({
      path: [...path, 'output', ...option.split('.')],
      message: `is an option of ${of}; output.format is ${format}`,
    });
  if (
    (format === 'json' || format === 'cloudevents') &&
    subject !== undefined &&
    subject !== 'topic-name'
  ) {
    object('subject', 'the formats json-schema, avro and protobuf');
  }
  if (format !== 'cloudevents') {
    if (cloudEvents?.mode !== undefined && cloudEvents.mode !== 'binary')
      object('cloudEvents.mode', 'format cloudevents');
    // Left out, it follows from the pipeline's name.
    if (!['', eventSourceOf(name)].includes(cloudEvents?.source ?? ''))
      object('cloudEvents.source', 'format cloudevents');
  }
  return findings;
}
