/** Rules between options. A name with `pipelines[].` stands for the option of each pipeline. */
import { INTAKE_SHARE } from '../../core/batch/buffer.ts';

interface Condition {
  holds(value: unknown): boolean;
  /** Completes "set … to". */
  readonly words: string;
}

const oneOf = (...values: readonly unknown[]): Condition => ({
  holds: (value) => values.includes(value),
  words: new Intl.ListFormat('en', { type: 'disjunction' }).format(values.map(String)),
});

interface OptionDependency {
  readonly option: string;
  /** Default: the option is written, with another value than its default. */
  readonly is?: Condition;
  /** Options that have no effect otherwise. */
  readonly enables?: readonly string[];
  /** Options that are required then. */
  readonly needs?: readonly string[];
}

const within = (group: string, ...names: readonly string[]): string[] =>
  names.map((name) => `${group}.${name}`);

const TOKEN = within('kafka.sasl.oauth', 'tokenEndpoint', 'clientId', 'clientSecret');

export const DEPENDENCIES: readonly OptionDependency[] = [
  {
    option: 'kafka.tls.enabled',
    is: oneOf(true),
    enables: within(
      'kafka.tls',
      ...['ca', 'certificate', 'key', 'keyPassphrase', 'serverName', 'insecureSkipVerification'],
    ),
  },
  {
    option: 'kafka.tls.insecureSkipVerification',
    is: oneOf(false),
    enables: within('kafka.tls', 'ca', 'serverName'),
  },
  { option: 'kafka.tls.certificate', needs: ['kafka.tls.key'] },
  { option: 'kafka.tls.key', needs: ['kafka.tls.certificate'] },
  { option: 'kafka.tls.keyPassphrase', needs: ['kafka.tls.key'] },
  {
    option: 'kafka.sasl.mechanism',
    is: oneOf('plain', 'scram-sha-256', 'scram-sha-512'),
    enables: within('kafka.sasl', 'username', 'password'),
    needs: within('kafka.sasl', 'username', 'password'),
  },
  {
    option: 'kafka.sasl.mechanism',
    is: oneOf('oauthbearer'),
    enables: [...TOKEN, ...within('kafka.sasl.oauth', 'scope', 'parameters', 'extensions', 'ca')],
    needs: TOKEN,
  },
  { option: 'service.tls.certificate', needs: ['service.tls.key'] },
  { option: 'service.tls.key', needs: ['service.tls.certificate'] },
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

interface OptionLimit {
  readonly option: string;
  readonly atMost: readonly {
    readonly option: string;
    /** Share of that option, and its words. Default: all of it. */
    readonly share?: readonly [number, string];
    readonly because?: string;
  }[];
}

export const LIMITS: readonly OptionLimit[] = [
  {
    option: 'pipelines[].batch.maxBytes',
    atMost: [
      {
        option: 'memory.budget',
        share: [INTAKE_SHARE, `${INTAKE_SHARE * 100} % of `],
        because: 'the share of intake',
      },
    ],
  },
  {
    option: 'pipelines[].source.maxContent',
    atMost: [{ option: 'pipelines[].batch.maxBytes', because: 'an item must fit into a batch' }],
  },
];
