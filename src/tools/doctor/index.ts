/** Looks at everything that a configuration names, and says what is wrong and what to do. Changes nothing unless it is asked to. */
export { type Finding, failed, ok, type Status, skipped, warning } from './check.ts';
export { checksOf } from './checks.ts';
export type {
  Certificate,
  DoctorParts,
  MemoryFacts,
  PipelineParts,
  RegistryParts,
  ServiceParts,
  ServiceQuestion,
} from './parts.ts';
export { type Result, runChecks } from './run-checks.ts';
