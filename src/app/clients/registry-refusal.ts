/** What a registry that says no means, and what to do about it. */
import {
  RegistryRefused,
  RegistryUnavailable,
  UnusableSchema,
} from '../../events/registry/index.ts';

/** Error codes of Confluent's API. */
const INVALID_SCHEMA = 42_201;
const OPERATION_NOT_PERMITTED = 42_205;
const INCOMPATIBLE = 409;

/** For people; undefined when it did not say no: it could not be reached, or something else went wrong. */
export function registryRefusal(error: unknown, wish: 'read' | 'write'): string | undefined {
  // Asking again with the same credentials gives the same answer.
  if (error instanceof RegistryUnavailable && (error.code === '401' || error.code === '403')) {
    const right = wish === 'read' ? 'read the subject' : 'read and write the subject';
    return `${error.message}: give it credentials that may ${right}`;
  }
  if (error instanceof UnusableSchema) return error.message;
  if (!(error instanceof RegistryRefused)) return undefined;
  switch (error.errorCode) {
    case OPERATION_NOT_PERMITTED:
      return `the registry takes no schema (${error.message}): it, or the subject, is in a mode such as READONLY; set it to READWRITE for the time of the registration`;
    case INVALID_SCHEMA:
      return `the registry does not understand the schema (${error.message}): it may be too old for it, or lack support for its type`;
    case INCOMPATIBLE:
      return `the registry finds the schema incompatible (${error.message})`;
    default:
      return `the registry refuses (error code ${error.errorCode}): ${error.message}`;
  }
}
