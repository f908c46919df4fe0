import { REPOSITORY_URL } from '../../packages/client/src/base/version.ts';
import { type Option, written } from '../../src/config/option.ts';
import { CONFIGURATION } from '../../src/config/schema.ts';
import { table } from './markdown.ts';

const SCHEMA = `${REPOSITORY_URL}/raw/main/config/connector.schema.json`;

/** Renders docs/configuration.md from the schema that checks configuration files. */
export function configurationPage(): string {
  const sections: string[] = [];
  walk(CONFIGURATION, '', sections);
  return `# Configuration

Generated from \`src/config\` by \`npm run generate\`; do not edit. \`config/example.yaml\` is a complete example.

\`content-review-connector check --config FILE\` reports every problem of a file at once, or else shows the value of every option. It
needs neither Kafka nor the service.

- **Files** are YAML 1.2, one document of at most 1 MiB. Anchors, aliases and \`<<\` merges work. Unknown options are refused.
- **Units.** Durations and sizes have a unit: \`250ms\`, \`30s\`, \`5m\`, \`24h\`, \`7d\`; \`512B\`, \`64KiB\`, \`8MiB\`, \`1GiB\`. A plain
  number is refused.
- **Editors** that use yaml-language-server complete and check the file from the JSON Schema
  [config/connector.schema.json](../config/connector.schema.json), which the first line of the file selects:
  \`# yaml-language-server: $schema=${SCHEMA}\`. \`check\` finds more.
- **Environment.** \`\${NAME}\` in a value is replaced by that variable, which must be set and not empty; \`\${NAME:-default}\` has a default for a
  missing or empty variable; \`$\${\` is a literal \`\${\`. Variables are replaced after the file is parsed, so a variable is always one
  value, whatever it contains. Numbers and flags may come from variables.
- **Lists** may be one text with commas. **Expressions** are JMESPath ([mapping.md](mapping.md)).
- **Secrets** are \`{env: NAME}\` or \`{file: PATH}\` (relative to the configuration file). One line break at the end of a file is removed. A
  file is read again when it changes; while it cannot be read the last valid value stays in use. No secret appears in logs, errors
  or the output of \`check\`. An inline value also works, but do not keep secrets in configuration files.

${sections.join('\n\n')}
`;
}

/** Parts of what is allowed that the introduction of the page explains. */
const EXPLAINED = [
  /, such as \S+ \(units [^)]*\)/,
  /; an inline value also works.*/,
  /, or one text with commas/,
  /, such as content or post.*?\(docs\/mapping\.md\)/,
];

const allowed = (text: string): string =>
  EXPLAINED.reduce((left, pattern) => left.replace(pattern, ''), text);

function walk(info: Option, path: string, sections: string[]): void {
  if (info.kind === 'list') {
    sections.push(`## \`${path}\`\n\n${info.help}`);
    walk(info.item, `${path}[]`, sections);
  }
  if (info.kind !== 'group') return;
  const members = Object.entries(info.shape);
  const rows = members.flatMap(([key, option]) => {
    if (option.kind !== 'value') return [];
    const fallback =
      option.fallback === undefined ? '**required**' : `\`${written(option.fallback) || "''"}\``;
    return [[`\`${key}\``, fallback, option.help, allowed(option.allowed)]];
  });
  if (path !== '') {
    const heading = `${'#'.repeat(Math.min(4, 1 + path.split('.').length))} \`${path}\`\n\n${info.help}`;
    sections.push(
      rows.length === 0
        ? heading
        : `${heading}\n\n${table(['Option', 'Default', 'Meaning', 'Allowed'], rows)}`,
    );
  }
  for (const [key, member] of members) walk(member, path === '' ? key : `${path}.${key}`, sections);
}
