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
  LookedUpDecisionLabel,
  LookedUpDecisionSource,
  Receipt,
  ReceiptError,
  ReceiptSource,
} from './declarations.ts';
