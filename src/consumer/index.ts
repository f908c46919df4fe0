/** The package's entry `content-review-connector/consumer`: a consumer of decisions and dead letters. */
export type {
  DeadLetterHeaders,
  Decision,
  LookedUpDecision,
  Receipt,
} from '../contracts/index.ts';
export type { RecordHeaders } from '../core/record.ts';
export { consumeDecisions, type DecisionConsumer } from './consumer.ts';
export type * from './options.ts';
