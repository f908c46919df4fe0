import type { Command } from 'commander';
import { EXIT, type ExitCode, exitCodeTable } from '../../../packages/client/src/cli/exit-codes.ts';
import { helpText, type Io } from '../../../packages/client/src/cli/io.ts';
import { sentence, table } from '../../../packages/client/src/cli/text.ts';
import type { SchemaReport } from '../../app/output-formats.ts';
import { onPipelines, printAnswer, type ToolFlags, toolOptions } from '../tool-options.ts';

export function schemasCommand(program: Command, io: Io): void {
  const group = program
    .command('schemas')
    .summary('check or register the schemas of the outputs')
    .description(
      'Manages the schemas of pipelines whose output.format is avro, json-schema or protobuf. The connector never registers schemas, and does not start if one is missing: register them when you deploy.',
    )
    .addHelpText(
      'after',
      helpText([
        'schemas check --config connector.yaml',
        'schemas register --config connector.yaml && deploy',
      ]),
    );
  for (const [name, description] of Object.entries(TEXTS))
    toolOptions(group.command(name), 'only this pipeline', 'docs/formats.md')
      .description(description)
      .addHelpText('after', `\n${exitCodeTable(['unreachable', 'refused', 'problems'])}`)
      .action((flags: ToolFlags) => run(io, flags, name === 'register'));
}

const TEXTS = {
  check:
    'Shows for each pipeline whether the schema of its output is registered under its subject, and if not, whether the registry would accept it. Changes nothing.',
  register:
    'Registers the schema of each output if it is compatible and not registered yet. A second run changes nothing. The compatibility rule of a subject is never changed.',
} as const;

const run = (io: Io, flags: ToolFlags, register: boolean): Promise<void> =>
  onPipelines(io, flags, async (config, pipelines, signal) => {
    const { schemaReports } = await import('../../app/output-formats.ts');
    const schemas = await schemaReports({ ...config, pipelines }, register, signal).catch(
      (error: unknown) => {
        signal.throwIfAborted();
        throw error;
      },
    );
    printAnswer(io, flags.json, JSON.stringify({ schemas }), textOf(schemas, register));
    return codeOf(schemas);
  });

function codeOf(schemas: readonly SchemaReport[]): ExitCode {
  if (schemas.some(({ state }) => state === 'incompatible')) return EXIT.refused;
  return schemas.every(({ state }) => state === 'registered') ? EXIT.ok : EXIT.problems;
}

const STATES: Readonly<Record<SchemaReport['state'], string>> = {
  registered: 'registered',
  new: 'not registered; would be the first of its subject',
  compatible: 'not registered: compatible',
  incompatible: 'INCOMPATIBLE',
};

function textOf(schemas: readonly SchemaReport[], register: boolean): string {
  if (schemas.length === 0)
    return 'No pipeline uses a schema registry for its output (output.format): nothing to register.\n';
  const rows = schemas.map(({ pipeline, subject, file, version, latest, id, ...report }) => [
    ...[pipeline, subject, file],
    ...[version, latest, id].map((number) => (number === null ? null : String(number))),
    report.registeredNow ? 'registered now' : STATES[report.state],
  ]);
  const lines = [table('PIPELINE SUBJECT SCHEMA VERSION LATEST ID STATE'.split(' '), rows)];
  for (const { pipeline, state, subject, latest, messages } of schemas) {
    if (state !== 'incompatible') continue;
    const reasons = messages.length === 0 ? ['(no reason given)'] : messages;
    lines.push(
      `Pipeline ${pipeline}: the registry rejects the schema as incompatible with the versions of ${subject} (latest: ${latest}):`,
      ...reasons.map((message) => `  ${sentence(message)}`),
      '  Use another subject (output.subject) or topic, or correct the subject in the registry. The schema was not registered.',
    );
  }
  if (!register && schemas.some(({ state }) => state === 'new' || state === 'compatible'))
    lines.push('Not registered yet: run schemas register before the connector starts.');
  return `${lines.join('\n').trimEnd()}\n`;
}
