/**
 * Registers OpenTelemetry's SDK as in docs/tracing.md, without instrumentations. They would trace the connector's
 * clients as well.
 */
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK({ instrumentations: [] }).start();
