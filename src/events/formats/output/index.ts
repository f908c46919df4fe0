/** Formats of terminal records, other than the JSON that the kinds render. */
export { cloudEventsOutput } from './cloudevents.ts';
export { contractOf, type DecodedTerminal } from './contract.ts';
export * from './registered-format.ts';
export { type OutputFormat, withOutputFormat } from './with-output-format.ts';
