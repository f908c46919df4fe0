/** A sandbox in a process of its own, for tests that kill it: `sandbox-process.ts <data directory> <port> <policy as JSON>`. */
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { API_KEY } from './caller.ts';

const [dataDir = '', port = '0', policy = '{}'] = process.argv.slice(2);
const sandbox = await startSandbox({
  dataDir,
  port: Number(port),
  policy: JSON.parse(policy),
  apiKeys: [API_KEY],
});
process.stdout.write(`${sandbox.baseUrl}\n`);
