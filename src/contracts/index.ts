/** Entry point `content-review-connector/contracts` of the package: types of the records on the topics. */
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
