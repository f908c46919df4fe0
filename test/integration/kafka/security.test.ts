/** Protected connections and rights (docs/kafka-security.md), with one broker. */

import { securedKafka } from './secured-kafka.ts';
import { securityLoginSuite } from './security-login.suite.ts';
import { securityRightsSuite } from './security-rights.suite.ts';

const secured = await securedKafka();
securityLoginSuite(secured);
securityRightsSuite(secured);
