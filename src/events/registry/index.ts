/** Client of Confluent-compatible schema registries, and the frames that their records have. */
export * from './confluent-registry.ts';
export { RegistryRefused, RegistryUnavailable, UnusableSchema } from './errors.ts';
export * from './frame.ts';
export * from './library.ts';
export type * from './registry.ts';
export * from './schema-cache.ts';
export type * from './settings.ts';
