/** Pages whose commands need Kafka. They run one after the other on the shared broker, because they use the same topics. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pagesToRun, ROOT } from '../../support/docs/pages.ts';
import { testKafka } from '../../support/kafka/kafka.ts';
import { testPages } from './page.ts';

const kafka = await testKafka();
for (const page of pagesToRun({ withKafka: true }))
  testPages([page], { brokers: kafka.brokers.join(','), leave: () => removeNamesOf(page) });

/** Removes only the groups and topics of a page, because other tests use the broker at the same time. */
async function removeNamesOf(page: string): Promise<void> {
  const text = readFileSync(path.join(ROOT, page), 'utf8');
  const derived = [...text.matchAll(/\b(?:name|topic): ([\w.-]+)/g)].flatMap(([, one]) => [
    ...[`content-review-${one}`, `content-review-${one}.journal`],
    ...[`${one}.decisions`, `${one}.dead-letters`],
  ]);
  const isOfPage = (name: string) => text.includes(name) || derived.includes(name);
  const admin = await kafka.admin();
  const { groups } = await admin.listGroups();
  const [topics, mine] = [await admin.listTopics(), groups.map(({ groupId }) => groupId)];
  await admin.deleteGroups(mine.filter(isOfPage));
  await admin.deleteTopics({ topics: topics.filter(isOfPage) });
}
