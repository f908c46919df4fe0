/** Writes the Grafana dashboard. Run it after changing dev/dashboard. */
import { writeFileSync } from 'node:fs';
import { DASHBOARD_FILE, dashboardFile } from './dashboard.ts';

writeFileSync(DASHBOARD_FILE, dashboardFile());
process.stdout.write(`wrote ${DASHBOARD_FILE.pathname}\n`);
