/** Fake service as a process: node main.ts <policy file> <API key>. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { startFakeService } from './fake-service.ts';

const [policyFile, apiKey] = process.argv.slice(2);
if (policyFile === undefined || apiKey === undefined)
  throw new Error('usage: node main.ts <policy file> <API key>');
const service = await startFakeService({
  policy: parse(readFileSync(policyFile, 'utf8')) ?? {},
  apiKeys: [apiKey],
});
process.stdout.write(`sandbox listening on ${service.baseUrl}\n`);
process.once('SIGTERM', () => void service.stop());
