/** A client of Confluent-compatible schema registries, and the frames that their records have. */
export { RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
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
export {
  REGISTRY_OPERATIONS,
  type RegistryCredentials,
  type RegistryObserver,
  type RegistryOperation,
  type RegistrySettings,
  SILENT_REGISTRY_OBSERVER,
} from './settings.ts';
