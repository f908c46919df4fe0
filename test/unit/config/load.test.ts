import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse as parseYaml } from 'yaml';
import { effectiveOptions } from '../../../src/config/effective.ts';
import { ConfigError } from '../../../src/config/load/problem.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { FIRST_OPTIONS } from '../../../src/config/schema.ts';
import { growthOf, LINEAR } from '../../support/cpu-growth.ts';
import { errorOf, MINIMAL, parse, problemsOf } from './problems-of.ts';

const ROOT = new URL('../../../', import.meta.url);

describe('a valid configuration', () => {
  it('requires brokers, base URL, API key, and name and topic of a pipeline; all other options have defaults', () => {
    const { kafka, service, pipelines, http, memory } = parse(MINIMAL);
    assert.deepEqual(
      [kafka.brokers, kafka.clientId],
      [['broker:9092'], 'content-review-connector'],
    );
    assert.equal(service?.apiKey.reveal(), 'key-1');
    assert.deepEqual(http, { host: '127.0.0.1', port: 9464 });
    assert.equal(memory.budgetBytes, 64 * 2 ** 20);
    const [pipeline] = pipelines;
    assert.equal(pipeline?.source.group, 'content-review-posts');
    assert.equal(pipeline?.journal.topic, 'content-review-posts.journal');
    assert.equal(pipeline?.journal.partitions, undefined);
    assert.equal(pipeline?.output.topic, 'events.decisions');
    assert.equal(pipeline?.deadLetters.topic, 'events.dead-letters');
    assert.deepEqual(pipeline?.batch, {
      maxRows: 5_000,
      maxBytes: 8 * 2 ** 20,
      maxAgeMs: 30_000,
      types: {},
    });
    assert.deepEqual(pipeline?.source.mapping.type, { field: 'type' });
  });

  it('accepts the objective of a pipeline, with its share as a number or a string', () => {
    const objectiveOf = (text: string) =>
      parse(MINIMAL.replace('}}]', `}, objective: {${text}}}]`), { S: '0.95' }).pipelines[0]
        ?.objective;
    assert.deepEqual(objectiveOf(''), { ageMs: 3_600_000, share: 0.99 });
    assert.deepEqual(objectiveOf(`age: 2d, share: "\${S}"`), { ageMs: 172_800_000, share: 0.95 });
    for (const wrong of ['99', '1', '0.4', '"1e0"', '"0.99 "x', '.nan', '[0.99]', '"99%"'])
      assert.throws(() => objectiveOf(`share: ${wrong}`), ConfigError, wrong);
  });

  it('selects columns for all metadata keys, listed keys or none', () => {
    const columnsOf = (text: string) =>
      parse(MINIMAL.replace('}}]', `}, review: {${text}}}]`)).pipelines[0]?.review.columns;
    assert.equal(columnsOf(''), undefined);
    assert.equal(columnsOf('columns: all'), undefined);
    assert.deepEqual(columnsOf('columns: [lang, user_id]'), ['lang', 'user_id']);
    assert.deepEqual(columnsOf('columns: []'), []);
  });

  it('derives the name of the journal from a configured group', () => {
    const config = parse(MINIMAL.replace('topic: events', 'topic: events, group: g-7'));
    assert.equal(config.pipelines[0]?.journal.topic, 'g-7.journal');
  });

  it('reads lists, numbers and booleans from variables', () => {
    const minimal = MINIMAL.replace('[broker:9092]', `"\${B}"`);
    const text = `${minimal.replace('}}]', `}, output: {includeContent: "\${E}"}}]`)}http: {port: "\${P}"}\nmemory: {budget: "\${M}"}\n`;
    const config = parse(text, { B: 'a:1, b:2', P: '0', E: 'true', M: '128MiB' });
    assert.deepEqual(config.kafka.brokers, ['a:1', 'b:2']);
    assert.deepEqual([config.pipelines[0]?.output.includeContent, config.http.port], [true, 0]);
    assert.equal(config.memory.budgetBytes, 128 * 2 ** 20);
  });

  it('does not let a variable change the structure', () => {
    const text = `${MINIMAL}log:\n  level: \${L:-info}\n`;
    assert.match(problemsOf(text, { L: 'info\nhttp: {port: 1}' })[0] ?? '', /^log\.level: /);
  });

  it('shares options between pipelines with anchors and merge keys', () => {
    const text = `
kafka: {brokers: [broker:9092]}
service: {baseUrl: "https://review.example", apiKey: k}
pipelines:
  - name: a
    source: {topic: x}
    batch: &batch {maxRows: 7}
  - name: b
    source: {topic: y}
    batch: {<<: *batch, maxAge: 1s}
`;
    assert.deepEqual(
      parse(text).pipelines.map(({ batch }) => [batch.maxRows, batch.maxAgeMs]),
      [
        [7, 30_000],
        [7, 1_000],
      ],
    );
  });

  it('shows every effective option in the form of the file, with secrets masked', () => {
    const shown = new Map(effectiveOptions(parse(MINIMAL)).map(({ path, value }) => [path, value]));
    assert.equal(shown.get('service.apiKey'), '[secret]');
    assert.equal(shown.get('pipelines[0].batch.maxAge'), '30s');
    assert.equal(shown.get('pipelines[0].source.mapping.type'), '{field: type}');
    assert.equal(shown.get('pipelines[0].journal.partitions'), 'auto');
    assert.equal(shown.get('pipelines[0].output.topic'), 'events.decisions');
  });

  it('marks values that differ from the default, including defaults derived from other options', () => {
    const text = MINIMAL.replace(
      'topic: events',
      'topic: events, startFrom: latest, nullValues: dead-letter}, output: {topic: events.decisions',
    );
    assert.deepEqual(
      effectiveOptions(parse(text)).flatMap(({ path, isSet }) => (isSet ? [path] : [])),
      [
        ...['kafka.brokers', 'service.baseUrl', 'service.apiKey', 'pipelines[0].name'],
        ...['pipelines[0].source.topic', 'pipelines[0].source.startFrom'],
      ],
    );
  });
});

describe('an invalid configuration', () => {
  it('is refused with all problems in file order, each with the found and the allowed value', () => {
    const { problems } = errorOf(
      `
kafka: {broker: [x], brokers: "\${B}"}
service: {baseUrl: ftp://x, timeout: 5}
pipelines:
  - name: Posts!
    source: {topic: t}
    batch: {maxAge: 30seconds, maxBytes: 8MB, maxRows: "\${ROWS}"}
    output: {subject: mine}
htpp: {}
`,
      { ROWS: '-1' },
    );
    assert.deepEqual(
      problems.map(({ path, message, line }) => [line, path, message]),
      [
        [2, 'kafka.broker', 'unknown option; known in kafka: brokers, clientId, rack, tls, sasl'],
        [
          2,
          'kafka.brokers',
          `the environment variable B is not set; set it, or write \${B:-default}`,
        ],
        [
          3,
          'service.apiKey',
          'required: {env: NAME} or {file: PATH}; an inline value also works, but do not keep secrets in configuration files',
        ],
        [
          3,
          'service.baseUrl',
          '"ftp://x" is not allowed; expected an https:// or http:// address without query, fragment or user',
        ],
        [
          3,
          'service.timeout',
          '5 is not allowed; expected a duration from 10ms to 1h, such as 30s (units ms, s, m, h, d) (the unit is missing: write 5ms, 5s, 5m)',
        ],
        [
          5,
          'pipelines[0].name',
          '"Posts!" is not allowed; expected 1 to 63 characters from [a-z0-9-], beginning with a letter or digit',
        ],
        [
          7,
          'pipelines[0].batch.maxAge',
          '"30seconds" is not allowed; expected a duration from 10ms to 1d, such as 30s (units ms, s, m, h, d)',
        ],
        [
          7,
          'pipelines[0].batch.maxBytes',
          '"8MB" is not allowed; expected a size from 1KiB to 512MiB, such as 8MiB (units B, KiB, MiB, GiB) (the unit must be written MiB)',
        ],
        [
          7,
          'pipelines[0].batch.maxRows',
          `"-1", from "\${ROWS}", is not allowed; expected a whole number from 1 to 100000`,
        ],
        [
          8,
          'pipelines[0].output.subject',
          'has no effect while output.format is json: remove it, or set output.format to json-schema, avro, or protobuf',
        ],
        [
          9,
          'htpp',
          'unknown option; known at the top level: kafka, service, services, schemaRegistry, pipelines, http, metrics, memory, log, shutdown',
        ],
      ],
    );
  });

  it('does not show password and query of a refused address', () => {
    for (const [address, shown] of [
      ['https://review.example?key=HIDDEN', 'https://review.example?[secret]'],
      ['https://review.example/#HIDDEN', 'https://review.example/#[secret]'],
      ['https://me:HID/DEN@review.example', 'https://[secret]@review.example'],
      ['ftp://me:HID DEN@review.example/?HIDDEN', 'ftp://[secret]@review.example/?[secret]'],
      ['me:HIDDEN@review.example', '[secret]@review.example'],
    ] as const) {
      const service = `service: {baseUrl: '${address}', apiKey: k}`;
      const { message } = errorOf(MINIMAL.replace(/^service:.*$/m, service));
      assert.ok(message.includes(`service.baseUrl: "${shown}" is not allowed`), message);
      assert.doesNotMatch(message, /HID|DEN/);
    }
  });

  it('is read in linear time, however many unknown options it has, and lists the first 100', async () => {
    const text = (count: number) =>
      Array.from({ length: count }, (_, at) => `option${at}: 1\n`).join('');
    const growth = await growthOf(300, (count) => {
      const unknown = text(count);
      return () => errorOf(unknown);
    });
    assert.ok(growth < LINEAR, `${growth}`);
    const lines = errorOf(text(1_000)).message.split('\n');
    assert.deepEqual([lines.length, lines.at(-1)], [102, '  and 903 more']);
  });

  for (const [what, text] of [
    ['unterminated references', (count: number) => `x: "${'${A:-'.repeat(10 * count)}"\n`],
    [
      'members',
      (count: number) =>
        MINIMAL.replace(
          'source: {',
          `source: {mapping: {type: {field: t, map: {${Array.from({ length: count }, (_, at) => `k${at}: v`).join(', ')}}}}, `,
        ),
    ],
  ] as const)
    it(`is read in linear time, however many ${what} it has`, async () => {
      const growth = await growthOf(200, (count) => {
        const long = text(count);
        return () => {
          try {
            parse(long);
          } catch (error) {
            assert.ok(error instanceof ConfigError);
          }
        };
      });
      assert.ok(growth < LINEAR, `${growth}`);
    });

  it('lists all problems in the message, with positions that editors recognize', () => {
    assert.match(
      errorOf(`${MINIMAL}htpp: 1\nlgo: 2\n`).message,
      /^c\.yaml has 2 problems:\n {2}c\.yaml:5:1 {2}htpp: .*\n {2}c\.yaml:6:1 {2}lgo: .*known at .*$/,
    );
  });

  for (const [what, text, pattern] of [
    [
      'a list instead of a boolean',
      MINIMAL.replace('}}]', '}, output: {includeContent: ["true"]}}]'),
      /^pipelines\[0\]\.output\.includeContent: a list of 1 is not allowed; expected true or false$/,
    ],
    [
      'a collector without a path',
      `${MINIMAL}metrics: {otlp: "http://collector:4318"}\n`,
      /^metrics\.otlp: .*add the path, usually http:\/\/collector:4318\/v1\/metrics/,
    ],
    [
      'a number instead of a string',
      MINIMAL.replace('topic: events', 'topic: 42'),
      /^pipelines\[0\]\.source\.topic: 42 is not allowed.*put quotes around it: "42"/,
    ],
    [
      'a broker with a scheme',
      MINIMAL.replace('[broker:9092]', '["kafka://broker:9092"]'),
      /entry 1: write host:port, without a scheme/,
    ],
    ['an unknown prototype key', `${MINIMAL}__proto__: {http: 1}\n`, /^__proto__: unknown option/],
    [
      'a type mapping with both field and constant',
      MINIMAL.replace('topic: events', 'topic: events, mapping: {type: {field: a, constant: b}}'),
      /exactly one of field and constant/,
    ],
    [
      'a decision id that is not a field mapping',
      MINIMAL.replace('topic: events', 'topic: events, mapping: {decisionId: id}'),
      /decisionId: .*\{field: EXPRESSION\}/,
    ],
    [
      'a result column that has another meaning',
      MINIMAL.replace('topic: events', 'topic: events}, review: {resultColumn: labels'),
      /a column of this name has another meaning/,
    ],
  ] as const) {
    it(`is refused for ${what}`, () => {
      assert.match(problemsOf(text).join('\n'), pattern);
    });
  }

  for (const [what, text, pattern] of [
    ['an unclosed bracket', 'kafka: [', /c\.yaml:1:\d+ {2}kafka: not valid YAML/],
    [
      'a duplicate key',
      'a: [{b: hunter2,\n b: 2}]',
      /c\.yaml:2:2 {2}a: not valid YAML: duplicate key/,
    ],
    [
      'a second key in one line',
      'a:\n  b: c: hunter2',
      /c\.yaml:2:\d+ {2}a\.b: not valid YAML: a second "key: value" on one line/,
    ],
    [
      'a secret that starts like a mapping',
      'kafka:\n  sasl:\n    password: {hunter2\n    username: a',
      /kafka\.sasl\.password: not valid YAML/,
    ],
    [
      'more than 200 aliases',
      `a: &hunter2 x\n${Array.from({ length: 201 }, (_, at) => `b${at}: *hunter2\n`).join('')}`,
      /there are more than 200 aliases/,
    ],
    [
      'an alias within itself',
      'service: &s {apiKey: hunter2, tls: [{ca: *s}]}',
      /an alias within the node it refers to/,
    ],
    [
      'an alias bomb',
      `a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [${'*a,'.repeat(10)}]\nc: &c [${'*b,'.repeat(10)}]\nd: [${'*c,'.repeat(10)}]`,
      /too many/,
    ],
  ] as const) {
    it(`is refused for ${what}, without quoting the value`, () => {
      const { message } = errorOf(text);
      assert.match(message, pattern);
      assert.doesNotMatch(message, /hunter2/);
    });
  }
});

describe('checks across options', () => {
  const two = (first: string, second: string) => `
kafka: {brokers: [b:1]}
service: {baseUrl: "https://s", apiKey: k}
pipelines: [${first}, ${second}]
`;

  it('refuse two pipelines that share name, group or journal', () => {
    assert.deepEqual(
      problemsOf(two('{name: a, source: {topic: x}}', '{name: a, source: {topic: y}}')),
      ['pipelines[1].name: a is already name of pipelines[0]; two pipelines cannot share it'],
    );
    assert.deepEqual(
      problemsOf(
        two(
          '{name: a, source: {topic: x}, journal: {topic: j}}',
          '{name: b, source: {topic: x}, journal: {topic: j}}',
        ),
      ),
      [
        'pipelines[1].journal.topic: j is already journal.topic of pipelines[0]; two pipelines cannot share it',
      ],
    );
  });

  it('allow two pipelines with the same source and output topics', () => {
    const topics = 'output: {topic: o}, deadLetters: {topic: d}';
    parse(
      two(`{name: a, source: {topic: x}, ${topics}}`, `{name: b, source: {topic: x}, ${topics}}`),
    );
  });

  it('refuse a topic that is used for two purposes', () => {
    assert.match(
      problemsOf(MINIMAL.replace('topic: events', 'topic: events}, output: {topic: events'))[0] ??
        '',
      /^pipelines\[0\]\.output\.topic: events is already source\.topic/,
    );
    assert.match(
      problemsOf(
        two(
          '{name: a, source: {topic: x}}',
          '{name: b, source: {topic: content-review-a.journal}}',
        ),
      )[0] ?? '',
      /is the journal of pipelines\[0\]/,
    );
  });

  it('refuse limits that contradict each other', () => {
    const wrong = MINIMAL.replace(
      'topic: events}',
      'topic: events, maxContent: 16MiB}, batch: {maxBytes: 9MiB}',
    );
    assert.deepEqual(
      problemsOf(`${wrong}memory: {budget: 10MiB}\n`).map((line) => line.split(':')[0]),
      ['pipelines[0].source.maxContent', 'pipelines[0].batch.maxBytes'],
    );
  });

  it('refuse limits of types that contradict other limits or have no effect', () => {
    const withTypes = (types: string) =>
      MINIMAL.replace('topic: events}', `topic: events, types: [chat]}, batch: {types: ${types}}`);
    assert.deepEqual(
      parse(withTypes('{chat: {maxAge: 2s, maxRows: 10}}')).pipelines[0]?.batch.types,
      {
        chat: { maxAgeMs: 2_000, maxRows: 10 },
      },
    );
    const path = 'pipelines[0].batch.types';
    assert.deepEqual(problemsOf(withTypes('{chat: {maxBytes: 100MiB}, post: {maxAge: 1s}}')), [
      `${path}.chat.maxBytes: 100MiB is more than 46976204B, 70 % of memory.budget: the share of intake`,
      `${path}.post: has no effect while source.types does not list this type: add it there, or remove it`,
    ]);
    assert.match(
      problemsOf(withTypes('{chat: {maxAge: never}}'))[0] ?? '',
      /chat: maxAge: expected a duration/,
    );
  });

  it('refuse lanes without content, without a share, or with shares that leave none for the default lane', () => {
    const withLanes = (lanes: string) =>
      MINIMAL.replace('topic: events}', `topic: events}, lanes: ${lanes}`);
    const live = '{live: {types: [chat], when: urgent, share: 0.5, age: 5s}}';
    assert.deepEqual(parse(withLanes(live)).pipelines[0]?.lanes, {
      live: { types: ['chat'], when: 'urgent', share: 0.5, ageMs: 5_000 },
    });
    for (const [lanes, problem] of [
      ['{live: {share: 0.5}}', /live: types or when is required/],
      ['{live: {types: chat}}', /live: share is required/],
      ['{a: {types: x, share: 0.6}, b: {types: y, share: 0.4}}', /the shares add up to 1: leave/],
      ['{default: {types: x, share: 0.5}}', /default: this is the lane of the content/],
      ['{Live: {types: x, share: 0.5}}', /Live: a name has 1 to 32/],
      ['{live: {when: "a ==", share: 0.5}}', /live: when: /],
    ] as const)
      assert.match(problemsOf(withLanes(lanes))[0] ?? '', problem);
    const lookup = withLanes(live).replace('source:', 'kind: lookup, source:');
    assert.match(problemsOf(lookup)[0] ?? '', /lanes\.live\.types: has no effect with kind lookup/);
  });

  it('cover the valid options although other options are invalid', () => {
    const problems = problemsOf(
      two(
        '{name: a, source: {topic: x}, nonsense: 1}',
        '{name: a, source: {topic: "!"}, batch: {maxBytes: 1}}',
      ),
    );
    assert.ok(problems.some((line) => line.startsWith('pipelines[1].name: a is already name')));
    assert.ok(problems.some((line) => line.startsWith('pipelines[0].nonsense: unknown option')));
    assert.equal(
      problems.filter((line) => line.startsWith('pipelines[1].batch.maxBytes')).length,
      1,
    );
  });
});

describe('configuration files', () => {
  it('are refused with the reason if they cannot be read', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'config-'));
    try {
      const big = join(directory, 'big.yaml');
      await writeFile(big, '#'.repeat(1024 * 1024 + 1));
      for (const [path, pattern] of [
        [
          join(directory, 'none.yaml'),
          /none\.yaml has 1 problem:\n {2}\(file\): cannot be read: no such file or directory/,
        ],
        [directory, /cannot be read: illegal operation on a directory/],
        [big, /it has more than 1048576 bytes/],
        ['/dev/zero', /it has more than 1048576 bytes/],
      ] as const) {
        await assert.rejects(
          loadConfig(path, {}),
          (error) => error instanceof ConfigError && pattern.test(error.message),
        );
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('in the repository: the example is valid, has only the first options, and differs from the defaults only in names', async () => {
    const file = new URL('config/example.yaml', ROOT);
    const options = effectiveOptions(await loadConfig(file.pathname, {}));
    const defaults = new Map(
      effectiveOptions(parse(MINIMAL.replace('topic: events', 'topic: content-events'))).map(
        ({ path, value }) => [path, value],
      ),
    );
    const own = [
      'kafka.brokers',
      'service.baseUrl',
      'pipelines[0].output.topic',
      'pipelines[0].output.subject',
      'pipelines[0].deadLetters.topic',
    ];
    assert.deepEqual(
      options.filter(({ path, value }) => defaults.get(path) !== value).map(({ path }) => path),
      own,
      `only ${own.join(', ')} may differ from the defaults`,
    );
    const written = parseYaml(await readFile(file, 'utf8'));
    const isWritten = (path: string) =>
      path.split(/[.[\]]+/).reduce((value, step) => value?.[step], written) !== undefined;
    assert.deepEqual(
      options
        .map(({ path }) => path)
        .filter(isWritten)
        .map((path) => path.replace('[0]', '[]'))
        .sort(),
      [...FIRST_OPTIONS].sort(),
    );
  });
});
