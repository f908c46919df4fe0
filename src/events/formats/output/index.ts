/** Formats of terminal records, other than the JSON that the kinds render. */
export { codecFor, contractOf, type DecodedTerminal, type TerminalCodec } from './contract.ts';
export * from './registered-format.ts';
export { type OutputFormat, withOutputFormat } from './with-output-format.ts';
