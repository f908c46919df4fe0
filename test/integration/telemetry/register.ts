/** Registers OpenTelemetry's SDK, as docs/tracing.md shows it. Other instrumentations would trace the connector's own clients. */
import { NodeSDK } from '@opentelemetry/sdk-node';

new NodeSDK({ instrumentations: [] }).start();
