/** Checks that involve several options, of one pipeline or of several. */

import { isUnencrypted } from '../../packages/client/src/http/web-address.ts';
import { INTAKE_SHARE } from '../core/batch-buffer.ts';
import { optionsIn } from './effective.ts';
import type { Finding, Path } from './load/problem.ts';
import { formatPath } from './load/problem.ts';
import type { Draft } from './load/read-options.ts';
import { optionAt } from './options/names.ts';
import type { Config, PipelineConfig } from './schema.ts';
import { serviceFindings } from './services.ts';

// Rules between options. A name that begins with `pipelines[].` refers to that option of each pipeline.

interface Condition {
  holds(value: unknown): boolean;
  /** Allowed values, with which the message "set … to …" ends. */
  readonly words: string;
}

const oneOf = (...values: readonly unknown[]): Condition => ({
  holds: (value) => values.includes(value),
  words: new Intl.ListFormat('en', { type: 'disjunction' }).format(values.map(String)),
});

interface OptionDependency {
  readonly option: string;
  /** Condition for the rule. Default: the option has a value other than its default. */
  readonly is?: Condition;
  /** Options that have an effect only under this condition. */
  readonly enables?: readonly string[];
  /** Options that are required under this condition. */
  readonly needs?: readonly string[];
}

const within = (group: string, ...names: readonly string[]): string[] =>
  names.map((name) => `${group}.${name}`);

const ENDPOINT = within('kafka.sasl.oauth', 'tokenEndpoint', 'clientId');
const ENDPOINT_ONLY = [...ENDPOINT, ...within('kafka.sasl.oauth', 'parameters', 'ca')];
const TOKEN_LOGINS = within('kafka.sasl.oauth', 'clientSecret', 'clientAssertion', 'token');

const DEPENDENCIES: readonly OptionDependency[] = [
  {
    option: 'kafka.tls.enabled',
    is: oneOf(true),
    enables: within('kafka.tls', 'ca', 'certificate', 'key', 'serverName'),
  },
  { option: 'kafka.tls.certificate', needs: ['kafka.tls.key'] },
  { option: 'kafka.tls.key', needs: ['kafka.tls.certificate'] },
  {
    option: 'kafka.sasl.mechanism',
    is: oneOf('plain', 'scram-sha-256', 'scram-sha-512'),
    enables: within('kafka.sasl', 'username', 'password'),
    needs: within('kafka.sasl', 'username', 'password'),
  },
  {
    option: 'kafka.sasl.mechanism',
    is: oneOf('oauthbearer'),
    enables: [...ENDPOINT_ONLY, ...TOKEN_LOGINS, 'kafka.sasl.oauth.extensions'],
  },
  ...['service', 'services[]'].flatMap((service) => {
    const [certificate, key] = [`${service}.tls.certificate`, `${service}.tls.key`];
    return [
      { option: certificate, needs: [key] },
      { option: key, needs: [certificate] },
    ];
  }),
  { option: 'schemaRegistry.username', needs: ['schemaRegistry.password'] },
  { option: 'schemaRegistry.password', needs: ['schemaRegistry.username'] },
  ...(['source', 'output'] as const).map((side) => ({
    option: `pipelines[].${side}.format`,
    is: oneOf('avro', 'json-schema', 'protobuf'),
    needs: ['schemaRegistry.urls'],
  })),
  {
    option: 'pipelines[].kind',
    is: oneOf('review'),
    enables: [
      ...within('pipelines[].source.mapping', 'content', 'metadata', 'expectedResult'),
      ...within('pipelines[].review', 'resultColumn', 'columns'),
      'pipelines[].output.includeContent',
      'pipelines[].batch.types',
    ],
  },
  {
    option: 'pipelines[].kind',
    is: oneOf('review', 'import'),
    enables: within('pipelines[].source', 'types', 'mapping.type'),
  },
  {
    option: 'pipelines[].kind',
    is: oneOf('import'),
    enables: ['pipelines[].source.mapping.data'],
  },
  {
    option: 'pipelines[].kind',
    is: oneOf('lookup'),
    enables: ['pipelines[].source.mapping.decisionId'],
  },
  {
    option: 'pipelines[].output.format',
    is: oneOf('json-schema', 'avro', 'protobuf'),
    enables: ['pipelines[].output.subject'],
  },
];

type PipelineDraft = Draft<PipelineConfig>;

/**
 * @param draft configuration whose derived names have been filled in
 * @param invalid names of options that have a problem already
 */
export function crossChecks(
  draft: Draft<Config>,
  invalid: ReadonlySet<string> = new Set(),
): Finding[] {
  const { kafka, schemaRegistry, pipelines = [] } = draft;
  const indexes = pipelines.map((_, index) => index);
  const entries = (option: string) => {
    if (option.startsWith('pipelines[]')) return indexes;
    return option.startsWith('services[]') ? Object.keys(draft.services ?? {}) : [0];
  };
  const options = optionsIn(draft);
  return [
    ...DEPENDENCIES.flatMap((rule) =>
      entries(rule.option).flatMap((index) => dependencyFindings(options, rule, index)),
    ),
    ...indexes.flatMap((index) => sizeFindings(options, draft, index)),
    ...tokenFindings(options, invalid),
    ...kafkaSecrecy(kafka ?? {}),
    ...serviceFindings(draft),
    ...registryLogin(schemaRegistry ?? {}),
    ...pipelines.flatMap((pipeline, index) => [
      ...formatFindings(pipeline, ['pipelines', index]),
      ...typeFindings(pipeline, ['pipelines', index]),
    ]),
    ...nameFindings(pipelines),
  ];
}

type Options = ReturnType<typeof optionsIn>;

function optionNamed(options: Options, name: string, index: number | string) {
  const found = options.get(
    name.replace(/^(\w+)\[\]/, (_, list: string) => formatPath([list, index])),
  );
  if (found === undefined) throw new Error(`there is no option ${name}`);
  return found;
}

const shortName = (name: string): string => name.replace(/^(pipelines|services)\[\]\./, '');

function dependencyFindings(
  options: Options,
  { option, is, enables = [], needs = [] }: (typeof DEPENDENCIES)[number],
  index: number | string,
): Finding[] {
  const { value, isSet } = optionNamed(options, option, index);
  const name = shortName(option);
  if (is !== undefined && value === undefined) return [];
  if (is === undefined ? isSet : is.holds(value)) {
    const reason = is === undefined ? name : `${name} ${value}`;
    return needs.flatMap((needed) => {
      const { path, isSet } = optionNamed(options, needed, index);
      return isSet ? [] : [{ path, message: `required with ${reason}` }];
    });
  }
  if (is === undefined) return [];
  const message = `has no effect while ${name} is ${value}: remove it, or set ${name} to ${is.words}`;
  return enables
    .map((enabled) => optionNamed(options, enabled, index))
    .flatMap(({ path, isSet }) => (isSet ? [{ path, message }] : []));
}

/** An item must fit into a batch, and a batch must fit into intake's share of the memory. */
function sizeFindings(options: Options, draft: Draft<Config>, index: number): Finding[] {
  const batch = optionNamed(options, 'pipelines[].batch.maxBytes', index);
  const content = optionNamed(options, 'pipelines[].source.maxContent', index);
  const types = optionNamed(options, 'pipelines[].batch.types', index);
  const share = {
    most: Math.floor(Number(draft.memory?.budgetBytes) * INTAKE_SHARE),
    because: `${INTAKE_SHARE * 100} % of memory.budget: the share of intake`,
  };
  const fits = (most: number, where: string) => ({
    most,
    because: `${where}: an item must fit into a batch`,
  });
  const limits = [
    { of: batch, ...share },
    { of: content, ...fits(Number(batch.value), 'batch.maxBytes') },
    ...Object.entries(Object(types.value) as PipelineConfig['batch']['types']).flatMap(
      ([type, { maxBytes }]) => {
        const of = { ...batch, path: [...types.path, type, 'maxBytes'], value: maxBytes };
        return [
          { of, ...share },
          { of: content, ...fits(Number(maxBytes), `batch.types.${type}.maxBytes`) },
        ];
      },
    ),
  ];
  return limits
    .filter(({ of, most }) => Number(of.value) > most)
    .map(({ of: { path, value, option }, most, because }) => ({
      path,
      message: `${option.show(value)} is more than ${option.show(most)}, ${because}`,
    }));
}

/** Reports types that no item can have: types outside `source.types`, and types of lanes if the kind has none. */
function typeFindings({ kind, lanes, source, batch }: PipelineDraft, path: Path): Finding[] {
  const listed = source?.types ?? [];
  if (kind !== 'review')
    return Object.entries(lanes ?? {})
      .filter(([, lane]) => (lane?.types ?? []).length > 0)
      .map(([name]) => ({
        path: [...path, 'lanes', name, 'types'],
        message: `has no effect with kind ${kind}: use the option "when"`,
      }));
  return Object.keys(batch?.types ?? {})
    .filter((type) => listed.length > 0 && !listed.includes(type))
    .map((type) => ({
      path: [...path, 'batch', 'types', type],
      message:
        'has no effect while source.types does not list this type: add it there, or remove it',
    }));
}

/** Requires exactly one origin of tokens for oauthbearer, with its options. */
function tokenFindings(options: Options, invalid: ReadonlySet<string>): Finding[] {
  const at = (name: string) => optionNamed(options, name, 0);
  const mechanism = 'kafka.sasl.mechanism';
  if (at(mechanism).value !== 'oauthbearer') return [];
  const isGiven = (name: string) => at(name).isSet || invalid.has(name);
  const [login, ...more] = TOKEN_LOGINS.filter(isGiven);
  const report = (name: string, message: string) => ({ path: at(name).path, message });
  if (login === undefined)
    return TOKEN_LOGINS.slice(0, 1).map((name) =>
      report(name, `${mechanism} oauthbearer requires clientSecret, clientAssertion or token`),
    );
  const isFile = login.endsWith('.token');
  return [
    ...more.map((name) => report(name, `cannot be combined with ${login}: remove one of the two`)),
    ...(isFile
      ? ENDPOINT_ONLY.filter(isGiven).map((name) =>
          report(name, `has no effect with ${login}: remove one of the two`),
        )
      : ENDPOINT.filter((name) => !isGiven(name)).map((name) =>
          report(name, `required with ${login}`),
        )),
  ];
}

/** Reports a password (PLAIN) or token sent without TLS. For SCRAM, a warning is enough. */
function kafkaSecrecy({ brokers = [], tls, sasl }: Draft<Config['kafka']>): Finding[] {
  const mechanism = sasl?.mechanism;
  if (mechanism !== 'plain' && mechanism !== 'oauthbearer' && mechanism !== 'aws-msk-iam')
    return [];
  if (tls?.enabled !== false || sasl?.insecureWithoutTls !== false) return [];
  const remote = brokers.find((broker) => isUnencrypted(`http://${broker}`));
  if (remote === undefined) return [];
  const message = `${mechanism} sends the ${mechanism === 'plain' ? 'password' : 'token'} to ${remote} unencrypted: set kafka.tls.enabled to true or, on a trusted network, kafka.sasl.insecureWithoutTls`;
  return [{ path: ['kafka', 'sasl', 'mechanism'], message }];
}

function registryLogin(registry: Draft<Config['schemaRegistry']>): Finding[] {
  const { urls = [], username, password, token, insecureWithoutTls } = registry;
  const findings: Finding[] = [];
  const report = (option: string, message: string) =>
    findings.push({ path: ['schemaRegistry', option], message });
  if (token !== undefined && (username ?? password) !== undefined)
    report(
      'token',
      'cannot be combined with username or password: remove either the token or these two',
    );
  if (
    insecureWithoutTls === false &&
    (password ?? token) !== undefined &&
    urls.some((url) => url !== undefined && isUnencrypted(url))
  )
    report(
      'urls',
      'http sends the credentials unencrypted: write https://, or set schemaRegistry.insecureWithoutTls',
    );
  return findings;
}

/** Reports mappings that do not fit the configured format. Each record would become a dead letter. */
function formatFindings({ kind, source }: PipelineDraft, path: Path): Finding[] {
  const findings: Finding[] = [];
  const report = (option: string, message: string) =>
    findings.push({ path: [...path, ...option.split('.')], message });
  const { type, content } = source?.mapping ?? {};
  if (source?.format === 'text') {
    if (kind === 'import')
      report('source.format', 'an import needs objects, and text has none: choose another format');
    if (kind === 'review' && type && 'field' in type && /^[A-Za-z_]\w*$/.test(type.field ?? ''))
      report(
        'source.mapping.type',
        "text has no fields: write {constant: TYPE}, or {field: header('NAME')}",
      );
  }
  if (source?.format === 'cloudevents' && kind === 'review' && content === 'content')
    report(
      'source.mapping.content',
      'CloudEvents have the payload in data: write data.content, or the path of the content',
    );
  return findings;
}

/** Options whose values two pipelines cannot share. */
const OWN = ['name', 'source.group', 'journal.topic'];
const NAMES = [...OWN, 'source.topic', 'output.topic', 'deadLetters.topic'];

/** Reports names that are used twice: a topic within a pipeline, or a name, group or journal of two pipelines. */
function nameFindings(pipelines: readonly PipelineDraft[]): Finding[] {
  const uses = pipelines.flatMap((pipeline, index) =>
    NAMES.map((option) => ({
      index,
      option,
      name: optionAt(pipeline, option.split('.')),
      isTopic: option.endsWith('.topic'),
    })),
  );
  // Group and journal are derived from the name, so for equal names only the names are reported.
  const haveOneName = (one: number, two: number) => pipelines[one]?.name === pipelines[two]?.name;
  return uses.flatMap(({ index, option, name, isTopic }, position) => {
    const conflicts = uses.flatMap((other, at) => {
      if (name === undefined || other.name !== name || at === position) return [];
      if (other.index === index)
        return isTopic && other.isTopic && at < position
          ? [`is already ${other.option} of this pipeline; each needs a topic of its own`]
          : [];
      if (other.option === option && OWN.includes(option))
        return at < position && (option === 'name' || !haveOneName(other.index, index))
          ? [`is already ${option} of pipelines[${other.index}]; two pipelines cannot share it`]
          : [];
      return isTopic && other.option === 'journal.topic'
        ? [`is the journal of pipelines[${other.index}]; nothing else may use it`]
        : [];
    });
    const path = ['pipelines', index, ...option.split('.')];
    return conflicts.slice(0, 1).map((conflict) => ({ path, message: `${name} ${conflict}` }));
  });
}
