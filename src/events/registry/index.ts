/** A client of Confluent-compatible schema registries, and the frames that their records have. */
export { ConfluentRegistry } from './confluent-registry.ts';
export { RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
export { FRAME_BYTES, MAGIC_BYTE, readFrame, writeFrame } from './frame.ts';
export {
  LIBRARY_TYPES,
  type LibraryOptions,
  type LibrarySchema,
  schemaLibrary,
} from './library.ts';
export { readMessageIndexes, writeMessageIndexes } from './message-indexes.ts';
export type { SchemaRegistry } from './registry.ts';
export type {
  Compatibility,
  ImportedSchema,
  NewSchema,
  RegisteredSchema,
  ResolvedSchema,
  SchemaReference,
  SchemaText,
  SchemaType,
  SubjectVersion,
} from './schema.ts';
export { type Loaded, type LoadSchema, SchemaCache } from './schema-cache.ts';
export {
  REGISTRY_OPERATIONS,
  type RegistryCredentials,
  type RegistryObserver,
  type RegistryOperation,
  type RegistrySettings,
  SILENT_REGISTRY_OBSERVER,
} from './settings.ts';
