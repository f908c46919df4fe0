/** Runs test files in one process (TEST_BUNDLE). Each file is a suite, so that the hooks of a file apply only to its tests. */
import { describe } from 'node:test';

for (const file of JSON.parse(process.env.TEST_BUNDLE ?? '[]') as string[])
  describe(file, async () => {
    await import(new URL(`../../${file}`, import.meta.url).href);
  });
