/** Test files that share a process (TEST_BUNDLE), each a suite: its hooks run for its own tests. */
import { describe } from 'node:test';

for (const file of JSON.parse(process.env.TEST_BUNDLE ?? '[]') as string[])
  describe(file, async () => {
    await import(new URL(`../../${file}`, import.meta.url).href);
  });
