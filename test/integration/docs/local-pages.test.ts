/** Pages whose commands do not need Kafka. */
import { pagesToRun } from '../../support/docs/pages.ts';
import { testPages } from './page.ts';

for (const page of pagesToRun({ withKafka: false })) testPages([page]);
