import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TransactionFailure } from '../../../src/core/ports/kafka.ts';
import { explain, transactionFailure } from '../../../src/kafka/errors.ts';

function failed(type: string | undefined, message = 'x'): Error {
  return Object.assign(new Error(message), type === undefined ? {} : { type });
}

describe('failure of a transaction', () => {
  const table: [string | undefined, TransactionFailure, TransactionFailure][] = [
    // Columns: error, failure while sending, failure at the commit.
    ['INVALID_PRODUCER_EPOCH', 'fenced', 'fenced'],
    ['PRODUCER_FENCED', 'fenced', 'fenced'],
    ['INVALID_PRODUCER_ID_MAPPING', 'fenced', 'fenced'],
    ['INVALID_TXN_STATE', 'fenced', 'fenced'],
    ['OUT_OF_ORDER_SEQUENCE_NUMBER', 'fenced', 'fenced'],
    ['UNKNOWN_PRODUCER_ID', 'fenced', 'fenced'],
    ['MESSAGE_TOO_LARGE', 'too_large', 'unknown'],
    ['RECORD_LIST_TOO_LARGE', 'too_large', 'unknown'],
    ['TOPIC_AUTHORIZATION_FAILED', 'rejected', 'unknown'],
    ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'rejected', 'rejected'],
    ['NOT_COORDINATOR_FOR_GROUP', 'aborted', 'unknown'],
    ['GROUP_COORDINATOR_NOT_AVAILABLE', 'aborted', 'unknown'],
    ['CONCURRENT_TRANSACTIONS', 'aborted', 'unknown'],
    ['NOT_ENOUGH_REPLICAS', 'aborted', 'unknown'],
    // This error is temporary, because NTP corrects the clock.
    ['INVALID_TIMESTAMP', 'aborted', 'unknown'],
    [undefined, 'aborted', 'unknown'],
  ];
  for (const [type, sending, committing] of table) {
    it(`${type ?? 'a broken connection'} is ${sending} while sending and ${committing} at the commit`, () => {
      assert.equal(transactionFailure(failed(type), 'sending'), sending);
      assert.equal(transactionFailure(failed(type), 'committing'), committing);
    });
  }

  it('is found within the errors of kafkajs that wrap it', () => {
    const wrapped = new Error('retries exceeded', {
      cause: new Error('again', { cause: failed('INVALID_PRODUCER_EPOCH') }),
    });
    assert.equal(transactionFailure(wrapped, 'committing'), 'fenced');
    const several = Object.assign(new Error('some'), { errors: [failed('MESSAGE_TOO_LARGE')] });
    assert.equal(transactionFailure(several, 'sending'), 'too_large');
  });

  it('recognizes PRODUCER_FENCED, which the table of kafkajs lacks', () => {
    assert.equal(
      transactionFailure(
        failed('KAFKAJS_UNKNOWN_ERROR_CODE', 'Unknown error code 90'),
        'committing',
      ),
      'fenced',
    );
    assert.equal(
      transactionFailure(
        failed('KAFKAJS_UNKNOWN_ERROR_CODE', 'Unknown error code 91'),
        'committing',
      ),
      'unknown',
    );
  });

  it('does not loop on an error that is its own cause', () => {
    const circular = new Error('round');
    circular.cause = circular;
    assert.equal(transactionFailure(circular, 'sending'), 'aborted');
  });
});

describe('explanation of an error', () => {
  it('names the remedy', () => {
    assert.match(explain(failed('UNKNOWN_TOPIC_OR_PARTITION')), /create the topic/);
    assert.match(explain(failed('GROUP_AUTHORIZATION_FAILED')), /grant/);
    assert.match(
      explain(new Error('connect ECONNREFUSED 127.0.0.1:9')),
      /check that the brokers run/,
    );
    assert.equal(explain('odd'), 'odd');
  });
});
