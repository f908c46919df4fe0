import { REPOSITORY_URL } from '../../packages/client/src/base/version.ts';
import { RELOADABLE } from '../../src/config/changes.ts';
import { type Named, type Option, type Value, written } from '../../src/config/option.ts';
import { CONFIGURATION, FIRST_OPTIONS } from '../../src/config/schema.ts';
import { table } from './markdown.ts';

const SCHEMA = `${REPOSITORY_URL}/raw/main/config/connector.schema.json`;

/** Renders docs/configuration.md from the schema that checks configuration files. */
export function configurationPage(): string {
  const first = FIRST_OPTIONS.map((path) => row(path, path, optionNamed(path)));
  const sections: string[] = [];
  walk(CONFIGURATION, '', sections);
  return `# Configuration

Generated from \`src/config\` by \`npm run generate\`; do not edit. \`config/example.yaml\` has the first options.

\`content-review-connector check --config FILE\` reports all problems of a file at once. If there are none, it shows the value of every option.
It needs neither Kafka nor the service.

- **Files** are YAML 1.2, one document of at most 1 MiB. Anchors, aliases and \`<<\` merges work. Unknown options are errors.
- **Units.** Write durations and sizes with a unit: \`250ms\`, \`30s\`, \`5m\`, \`24h\`, \`7d\`; \`512B\`, \`64KiB\`, \`8MiB\`, \`1GiB\`.
- **Editors** that use yaml-language-server complete and check the file with the JSON Schema
  [config/connector.schema.json](../config/connector.schema.json) if this is its first line:
  \`# yaml-language-server: $schema=${SCHEMA}\`. \`check\` finds more problems.
- **Environment.** \`\${NAME}\` in a value is replaced by that environment variable, which must be set and not empty;
  \`\${NAME:-default}\` has a default for a missing or empty variable; \`$\${\` is a literal \`\${\`. Variables are replaced after the file is parsed, so a variable is always a
  single value.
- **Lists** may be written as one string with commas. **Expressions** are JMESPath ([mapping.md](mapping.md)). Options with ↻ [change without a restart](operating.md#change-the-configuration).
- **Secrets** are \`{env: NAME}\` or \`{file: PATH}\` (relative to the configuration file). A
  file is reread when it changes; while it cannot be read, the last valid value stays in use. No secret appears in logs, errors
  or the output of \`check\`. An inline value also works, but do not store secrets in configuration files.

## First options

${table(COLUMNS, first)}

## Advanced options

All other options, by group.

${sections.join('\n\n')}
`;
}

const COLUMNS = ['Option', 'Default', 'Meaning', 'Allowed'];

function optionNamed(path: string): Value<unknown> {
  const found = path
    .split('.')
    .reduce<Option>((option, step) => memberOf(option, step.replace('[]', '')), CONFIGURATION);
  if (found.kind !== 'value') throw new Error(`${path} is not an option`);
  return found;
}

function memberOf(option: Option, key: string): Option {
  const member = option.kind === 'group' ? option.shape[key] : undefined;
  if (member === undefined) throw new Error(`there is no option ${key}`);
  return member.kind === 'list' ? member.item : member;
}

/** @throws Error if the default is not an allowed value */
function row(key: string, path: string, option: Value<unknown> | Named) {
  const { fallback, help, allowed } = option;
  if (option.kind === 'value' && fallback !== undefined)
    try {
      option.parse(fallback, { env: {}, directory: '' });
    } catch {
      throw new Error(`the default of ${path} is ${written(fallback)}: expected ${allowed}`);
    }
  const shown = fallback === undefined ? '**required**' : `\`${written(fallback) || "''"}\``;
  return [`\`${key}\`${path in RELOADABLE ? '↻' : ''}`, shown, help, withoutExplained(allowed)];
}

/** Parts of the allowed values that the page's introduction explains. */
const EXPLAINED = [
  /, such as \S+ \(units [^)]*\)/,
  /; an inline value also works.*/,
  /, or one string with commas/,
  /, such as content or post.*?\(docs\/mapping\.md\)/,
];

const withoutExplained = (text: string): string =>
  EXPLAINED.reduce((left, pattern) => left.replace(pattern, ''), text);

/** Adds a section for each group that has options of its own. Omits FIRST_OPTIONS. */
function walk(info: Option, path: string, sections: string[]): void {
  if (info.kind === 'list') walk(info.item, `${path}[]`, sections);
  // A group with names chosen by the user gets only one row, because its options are the same as in
  // `service`.
  if (info.kind === 'named')
    sections.push(`### \`${path}\`\n\n${table(COLUMNS, [row(path, path, info)])}`);
  if (info.kind !== 'group') return;
  const members = Object.entries(info.shape).map(
    ([key, member]) => [key, path === '' ? key : `${path}.${key}`, member] as const,
  );
  const rows = members.flatMap(([key, name, member]) =>
    member.kind === 'value' && !FIRST_OPTIONS.includes(name) ? [row(key, name, member)] : [],
  );
  if (rows.length > 0) sections.push(`### \`${path}\`\n\n${info.help}\n\n${table(COLUMNS, rows)}`);
  for (const [, name, member] of members) walk(member, name, sections);
}
