/** Names of services, and of their readiness conditions. */

/** Name of the service that the group `service` of the configuration describes. */
export const DEFAULT_SERVICE = 'default';

/** Condition that a service responds. */
export const SERVICE_CONDITION = 'service';
/** Condition that a service accepts the API key. */
export const KEY_CONDITION = 'api_key';

/** Returns a condition of a service. Conditions of the group `service` have no suffix. */
export const conditionOf = (condition: string, service: string): string =>
  service === DEFAULT_SERVICE ? condition : `${condition}:${service}`;
