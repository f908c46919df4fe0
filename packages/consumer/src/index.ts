/** Entry point of the package `content-review-consumer`: a consumer of decisions and dead letters. */
export type {
  DeadLetterHeaders,
  Decision,
  LookedUpDecision,
  Receipt,
} from '../../../contracts/index.js';
export type { RecordHeaders } from '../../../src/core/record.ts';
export { consumeDecisions, type DecisionConsumer } from './consumer.ts';
export type * from './options.ts';
