/** Writes the Prometheus rules. Run it after changing dev/alerts. */
import { writeFileSync } from 'node:fs';
import { RULES_FILE, rulesFile } from './rules.ts';

writeFileSync(RULES_FILE, rulesFile());
process.stdout.write(`wrote ${RULES_FILE.pathname}\n`);
