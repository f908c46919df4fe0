import { MemoryRegistry } from '../support/memory/schema-registry.ts';
import { schemaRegistrySuite } from './schema-registry.suite.ts';

const registry = new MemoryRegistry();
schemaRegistrySuite(
  () => registry,
  (subject, rule) => registry.setRule(subject, rule),
);
