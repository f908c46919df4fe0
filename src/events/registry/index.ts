/** Client of Confluent-compatible schema registries, and the frame of their records. */
export * from './confluent-registry.ts';
export * from './frame.ts';
export * from './library.ts';
export * from './registry.ts';
export * from './schema-cache.ts';
