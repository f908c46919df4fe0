import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LogEntry } from 'kafkajs';
import { clientLog } from '../../../src/kafka/connect.ts';
import { RecordingLogger } from '../../support/memory/telemetry/recording-telemetry.ts';

const WARN = 2;
const ERROR = 1;
const INFO = 4;

function entry(level: number, message: string, extra: object = {}): LogEntry {
  return { namespace: 'Connection', level, label: '', log: { timestamp: '', message, ...extra } };
}

describe("kafkajs's log", () => {
  it('is logged as warnings, without fields that may contain content', () => {
    const logger = new RecordingLogger();
    const fields = {
      broker: 'b:1',
      error: 'boom',
      payload: 'secret',
      stack: 'long',
      data: { value: 'content' },
    };
    clientLog(logger)()(entry(ERROR, 'Connection error', fields));
    assert.deepEqual(logger.lines, [
      {
        level: 'warn',
        message: 'Connection error',
        fields: { client: 'kafkajs Connection', broker: 'b:1', error: 'boom' },
      },
    ]);
  });

  it('logs at debug the events that are normal while brokers start and groups form', () => {
    const logger = new RecordingLogger();
    const log = clientLog(logger)();
    log(
      entry(ERROR, 'Response JoinGroup(key: 11, version: 5)', {
        error: 'The coordinator is loading',
      }),
    );
    log(entry(ERROR, 'The group coordinator is not available'));
    log(entry(WARN, 'The group is rebalancing, re-joining'));
    log(
      entry(
        ERROR,
        'The producer attempted to update a transaction while another concurrent operation on the same transaction was ongoing',
      ),
    );
    log(entry(INFO, 'Consumer has joined the group'));
    assert.deepEqual(new Set(logger.lines.map(({ level }) => level)), new Set(['debug']));
  });

  it('repeats the same warning at most every five minutes', () => {
    const logger = new RecordingLogger();
    let now = 0;
    const log = clientLog(logger, () => now)();
    for (const at of [0, 1_000, 299_999, 300_000]) {
      now = at;
      log(entry(ERROR, 'Connection error: connect ECONNREFUSED'));
    }
    assert.deepEqual(
      logger.lines.map(({ level }) => level),
      ['warn', 'debug', 'debug', 'warn'],
    );
  });
});
