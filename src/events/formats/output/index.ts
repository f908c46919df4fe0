/** How terminal records may be written, other than the JSON that the kinds render. */
export { type CloudEventsMode, cloudEventsOutput } from './cloudevents.ts';
export { contractOf, REGISTRY_FORMATS, type RegistryFormatName } from './contract.ts';
export type { OutputFormat } from './format.ts';
export { FramedReader } from './framed-reader.ts';
export { RegisteredFormat } from './registered-format.ts';
export { type SchemaState, schemaState } from './schema-state.ts';
export { withOutputFormat } from './with-output-format.ts';
