/** Protected connections and rights, on one broker that has both (docs/kafka-security.md). */

import { securedKafka } from './secured-kafka.ts';
import { securityLoginSuite } from './security-login.suite.ts';
import { securityRightsSuite } from './security-rights.suite.ts';

const secured = await securedKafka();
securityLoginSuite(secured);
securityRightsSuite(secured);
