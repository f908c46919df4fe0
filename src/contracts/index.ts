/** The package's entry `content-review-connector/contracts`: what is on the topics, as types. */
export type {
  ContentEvent,
  DeadLetterHeaders,
  Decision,
  DecisionBatch,
  DecisionError,
  DecisionLabel,
  DecisionSource,
  LookedUpDecision,
  LookedUpDecisionError,
  Receipt,
  ReceiptError,
} from './declarations.ts';
