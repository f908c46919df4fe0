/** Client of Confluent-compatible schema registries, and the frames that their records have. */
export * from './confluent-registry.ts';
export * from './frame.ts';
export * from './library.ts';
export * from './registry.ts';
export * from './schema-cache.ts';
