/** Pages whose commands need no Kafka. */
import { pagesToRun } from '../../support/docs/pages.ts';
import { testPage } from './page.ts';

for (const page of pagesToRun({ withKafka: false })) testPage(page);
