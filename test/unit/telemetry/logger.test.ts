import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../packages/client/src/base/service-error.ts';
import {
  chooseLogFormat,
  createLogger,
  formatLogLine,
  type LogFormat,
  type LogLevel,
} from '../../../src/telemetry/logger.ts';

const PRESIGNED =
  'https://storage.example/bucket/up.csv?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=deadbeef01&x-amz-meta-team_name=trust';

function capture(format: LogFormat = 'json', level: LogLevel = 'debug') {
  const lines: string[] = [];
  const logger = createLogger({ level, format, sink: { write: (line) => void lines.push(line) } });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
}

describe('logger', () => {
  it('writes one JSON object per line with level, time, message and fields', () => {
    const { logger, lines, last } = capture();
    logger.info({ pipeline: 'p', shards: [1, 2] }, 'claimed\nshards');
    assert.match(lines[0] ?? '', /^[^\n]*\n$/);
    const { time, ...rest } = last();
    assert.deepEqual(rest, {
      level: 'info',
      pipeline: 'p',
      shards: [1, 2],
      msg: 'claimed\nshards',
    });
    assert.ok(Math.abs(Date.parse(String(time)) - Date.now()) < 60_000);
  });

  it('escapes characters that control a terminal or the text direction, even in JSON', () => {
    const { logger, lines, last } = capture();
    logger.info({ name: 'a\u009b31m\u202eb\u2028c\u{e0041}', line: 'd\ne' }, 'said \u2066x');
    assert.doesNotMatch((lines[0] ?? '').replace(/\n$/, ''), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    const { name, line, msg } = last();
    assert.deepEqual(
      [name, line, msg],
      ['a\u009b31m\u202eb\u2028c\u{e0041}', 'd\ne', 'said \u2066x'],
    );
  });

  it('omits lines below its level', () => {
    const { logger, lines } = capture('json', 'warn');
    logger.debug({}, 'a');
    logger.info({}, 'b');
    logger.warn({}, 'c');
    logger.error({}, 'd');
    assert.equal(lines.length, 2);
  });

  it('adds the fields of the parent to a child, where the closest field of a name is used', () => {
    const { logger, lines, last } = capture();
    logger
      .child({ pipeline: 'p', shard: 1 })
      .child({ shard: 2 })
      .warn({ shard: 3, level: 'x', msg: 'y' }, 'm');
    assert.equal(lines[0]?.match(/"shard"/g)?.length, 1);
    const { time: _, ...rest } = last();
    assert.deepEqual(rest, {
      level: 'warn',
      pipeline: 'p',
      shard: 3,
      level_: 'x',
      msg_: 'y',
      msg: 'm',
    });
  });

  it('accepts an error instead of fields', () => {
    const { logger, last } = capture();
    logger.error(new TypeError('bad'), 'failed');
    const error = last().error as Record<string, unknown>;
    assert.equal(error.name, 'TypeError');
    assert.match(String(error.stack), /logger\.test\.ts/);
  });

  it('chooses text on a terminal and JSON elsewhere, unless LOG_FORMAT is set', () => {
    assert.equal(chooseLogFormat({}, true), 'text');
    assert.equal(chooseLogFormat({}, false), 'json');
    assert.equal(chooseLogFormat({ LOG_FORMAT: 'json' }, true), 'json');
    assert.equal(chooseLogFormat({ LOG_FORMAT: 'text' }, false), 'text');
  });
});

describe('redaction', () => {
  it('removes signed queries, credentials in addresses, bearer tokens and keys from messages and fields', () => {
    const { logger, lines } = capture();
    logger.info({ url: PRESIGNED, address: new URL(PRESIGNED) }, `PUT ${PRESIGNED} failed`);
    logger.info(
      { path: '/bucket/up.csv?X-Amz-Signature=deadbeef01' },
      'X-Amz-Signature=deadbeef01&a=b',
    );
    logger.info(
      { header: 'Authorization: Bearer deadbeef01' },
      'sent {"authorization":"deadbeef01"} and api_key=deadbeef01',
    );
    logger.info(
      { headers: { Authorization: 'deadbeef01', 'x-api-key': 'deadbeef01', cookie: 'deadbeef01' } },
      'x',
    );
    logger.info(
      { apiKey: 'deadbeef01', secretAccessKey: 'deadbeef01', nested: [{ password: 'deadbeef01' }] },
      'x',
    );
    logger.info({ proxy: 'http://user:deadbeef01@proxy.example:3128' }, 'x');
    logger.info(
      { content: 'deadbeef01', body: Buffer.from('deadbeef01'), value: Buffer.from('deadbeef01') },
      'x',
    );
    logger.child({ token: 'deadbeef01' }).info({}, 'x');
    const all = lines.join('');
    assert.doesNotMatch(all, /deadbeef01|team_name|X-Amz-Algorithm/);
    assert.ok(all.includes('https://storage.example/bucket/up.csv?[redacted]'));
  });

  it('keeps only name, message, stack, causes and known fields of an error', () => {
    const { logger, lines, last } = capture();
    const cause = Object.assign(new Error(`fetch ${PRESIGNED}`), {
      code: 'ECONNRESET',
      request: { headers: 'deadbeef01' },
      config: 'deadbeef01',
    });
    const error = new ServiceError('unavailable', 'upload failed', {
      operation: 'upload',
      status: 503,
      retryAfterMs: 250,
      cause,
    });
    logger.error({ error }, 'x');
    assert.doesNotMatch(lines.join(''), /deadbeef01/);
    const { stack: _, ...rest } = last().error as Record<string, unknown>;
    const { stack: __, ...inner } = rest.cause as Record<string, unknown>;
    assert.deepEqual(
      { ...rest, cause: inner },
      {
        name: 'ServiceError',
        message: 'upload failed',
        status: 503,
        failure: 'unavailable',
        operation: 'upload',
        retryAfterMs: 250,
        cause: {
          name: 'Error',
          message: 'fetch https://storage.example/bucket/up.csv?[redacted]',
          code: 'ECONNRESET',
        },
      },
    );
  });

  it('handles cycles, throwing getters, deep nesting and huge values', () => {
    const { logger, last } = capture();
    const cycle: Record<string, unknown> = {
      big: 10n,
      none: undefined,
      run: () => 1,
      nan: Number.NaN,
    };
    cycle.self = cycle;
    const trap = {
      get bad(): string {
        throw new Error('deadbeef01');
      },
    };
    let deep: object = {};
    for (let i = 0; i < 10_000; i++) deep = { deep };
    const wide = Array.from({ length: 1_000 }, (_, i) => i);
    logger.info(
      {
        cycle,
        trap,
        deep,
        wide,
        map: new Map([['apiKey', 'deadbeef01']]),
        text: 'a'.repeat(100_000),
      },
      'x',
    );
    const line = last();
    assert.deepEqual(line.cycle, { big: '10', nan: 'NaN', self: '[circular]' });
    assert.equal(line.trap, '[unreadable]');
    assert.deepEqual(line.map, { apiKey: '[redacted]' });
    assert.equal((line.wide as unknown[]).length, 101);
    assert.ok(JSON.stringify(line).length < 8_000);
  });

  it('removes a signature wherever the address is in a string', () => {
    const text = fc.string({ maxLength: 40 });
    fc.assert(
      fc.property(
        text,
        text,
        fc.constantFrom(
          PRESIGNED,
          PRESIGNED.slice(PRESIGNED.indexOf('/bucket')),
          'Bearer deadbeef01',
        ),
        (before, after, secret) => {
          const { logger, lines } = capture();
          logger.info(
            { a: `${before} ${secret} ${after}`, [`${before} ${secret}`]: 1 },
            `${before} ${secret}\n${after}`,
          );
          assert.ok(!lines.join('').includes('deadbeef01'));
        },
      ),
    );
  });

  it('logs any value as one JSON line without throwing', () => {
    fc.assert(
      fc.property(
        fc.object({
          withBigInt: true,
          withMap: true,
          withSet: true,
          withDate: true,
          withTypedArray: true,
        }),
        fc.string(),
        (fields, message) => {
          const { logger, lines } = capture();
          logger.child(fields).info(fields, message);
          assert.equal(lines.length, 1);
          JSON.parse(lines[0] ?? '');
        },
      ),
    );
  });
});

describe('log lines as text', () => {
  it('shows time, level, message and fields in one line', () => {
    const line = formatLogLine(
      '{"level":"warn","time":"2026-11-21T12:03:44.120Z","pipeline":"p","wait":"a b","n":3,"ids":[1],"error":{"name":"Error","message":"up","stack":"…","cause":{"name":"TypeError","message":"down","stack":"…"}},"msg":"paused"}\n',
    );
    assert.equal(
      line,
      '12:03:44.120 WARN  paused  pipeline=p  wait="a b"  n=3  ids=[1]  error="Error: up <- TypeError: down"\n',
    );
  });

  it('does not let a value start a line or control the terminal', () => {
    const controls = fc.string({
      unit: fc.constantFrom('a', '\n', '\r', '\u001b', '\u009b', '\u202e', '\u2066', '\u2028', '"'),
    });
    fc.assert(
      fc.property(controls, controls, controls, (name, value, message) => {
        const { logger, lines } = capture('text');
        logger.info({ [name]: value, error: new Error(value), list: [value] }, message);
        assert.match(lines[0] ?? '', /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*\n$/u);
      }),
    );
  });
});
