import { Command } from 'commander';
import type { SchemaReport } from '../../app/formats/schemas.ts';
import { loadConfig } from '../../config/load/load.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupt.ts';
import type { Finish, Io } from '../io.ts';
import { printable, printableLines } from '../printable.ts';
import { table } from '../table.ts';

interface SchemasFlags {
  readonly config: string;
  readonly pipeline?: string;
  readonly json?: true;
}

const MAX_SENTENCE = 2_000;

export function schemasCommand(io: Io, finish: Finish): Command {
  return new Command('schemas')
    .summary('check or register the schemas of the outputs')
    .description(
      'Looks after the schemas of pipelines whose output.format is avro, json-schema or protobuf. A running connector registers nothing, and does not start when its schema is missing: register it when you deploy.',
    )
    .addCommand(command(io, finish, 'check'))
    .addCommand(command(io, finish, 'register'))
    .addHelpText(
      'after',
      `
Examples:
  $ content-review-connector schemas check --config connector.yaml
  $ content-review-connector schemas register --config connector.yaml && deploy`,
    );
}

const TEXTS = {
  check: {
    summary: 'tell whether each schema is registered, and could be',
    description:
      'Tells for each pipeline whether the schema of its output is registered under its subject, and if not, whether the registry would take it. Changes nothing.',
    codes: `Exit codes: 0 each is registered; 4 one is incompatible, or the registry refuses; 5 one is not registered yet, and would be
taken; 3 the registry cannot be reached.`,
  },
  register: {
    summary: 'register the schemas that are missing',
    description:
      'Registers the schema of each output that its subject does not have yet, if it is compatible. Run again it changes nothing. The rule of compatibility of a subject is never changed.',
    codes: `Exit codes: 0 each is registered; 4 one is incompatible, or the registry refuses; 3 the registry cannot be reached.`,
  },
} as const;

function command(io: Io, finish: Finish, name: keyof typeof TEXTS): Command {
  const { summary, description, codes } = TEXTS[name];
  return new Command(name)
    .summary(summary)
    .description(description)
    .requiredOption('-c, --config <file>', 'configuration file (YAML) that the pipelines run with')
    .option('-p, --pipeline <name>', 'only this pipeline')
    .option('--json', 'one JSON document, for machines (docs/output-formats.md)')
    .addHelpText('after', `\n${codes}`)
    .action((flags: SchemasFlags) => work(io, finish, flags, name === 'register'));
}

async function work(
  io: Io,
  finish: Finish,
  { config: file, pipeline, json }: SchemasFlags,
  register: boolean,
): Promise<void> {
  const signals = untilInterrupted();
  const stop = new AbortController();
  void signals.interrupted.then(() => stop.abort(new Error('interrupted')));
  try {
    const config = await loadConfig(file, io.env, { withoutServiceKey: true });
    // Loaded late: a wrong configuration is reported before anything heavy starts.
    const { schemaReports } = await import('../../app/formats/schemas.ts');
    const schemas = await schemaReports(config, { pipeline, register }, stop.signal);
    io.out(
      json === true
        ? `${JSON.stringify({ schemas })}\n`
        : printableLines(textOf(schemas, register)),
    );
    finish(codeOf(schemas));
  } catch (error) {
    if (stop.signal.aborted) return finish(EXIT.interrupted);
    if (!(error instanceof InspectError)) throw error;
    io.err(`${printable(error.message, MAX_SENTENCE)}\n`);
    finish(EXIT[error.failure]);
  } finally {
    signals.restore();
  }
}

function codeOf(schemas: readonly SchemaReport[]): ExitCode {
  if (schemas.some(({ state }) => state === 'incompatible')) return EXIT.refused;
  return schemas.every(({ state }) => state === 'registered') ? EXIT.ok : EXIT.missing;
}

function textOf(schemas: readonly SchemaReport[], register: boolean): string {
  if (schemas.length === 0)
    return 'No pipeline writes by a schema registry (output.format): there is nothing to register.\n';
  const lines = [
    table(
      ['PIPELINE', 'SUBJECT', 'SCHEMA', 'VERSION', 'LATEST', 'ID', 'STATE'],
      schemas.map((one) => [
        one.pipeline,
        one.subject,
        one.file,
        text(one.version),
        text(one.latest),
        text(one.id),
        stateOf(one),
      ]),
    ),
  ];
  for (const { pipeline, state, subject, latest, messages } of schemas) {
    if (state !== 'incompatible') continue;
    lines.push(
      `Pipeline ${pipeline}: the versions of ${subject}, the latest of which is ${latest}, and this schema do not go together, says the registry:`,
    );
    for (const message of messages.length === 0 ? ['(it gives no reason)'] : messages)
      lines.push(`  ${printable(message, MAX_SENTENCE)}`);
    lines.push(
      '  Use another subject (output.subject) or topic, or put the subject right in the registry. Nothing was registered for it.',
    );
  }
  if (!register && schemas.some(({ state }) => state === 'new' || state === 'compatible')) {
    lines.push('Not registered yet: run schemas register before the connector starts.');
  }
  return `${lines.join('\n').trimEnd()}\n`;
}

const text = (value: number | null): string | null => (value === null ? null : String(value));

function stateOf({ state, registeredNow }: SchemaReport): string {
  switch (state) {
    case 'registered':
      return registeredNow ? 'registered now' : 'registered';
    case 'new':
      return 'not registered: the first of its subject';
    case 'compatible':
      return 'not registered: compatible';
    case 'incompatible':
      return 'INCOMPATIBLE';
  }
}
