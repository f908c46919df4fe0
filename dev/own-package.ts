/**
 * Resolves the package's own entries to their sources, so that examples run without a build:
 * npm run example -- examples/typescript/consumer.ts
 */
import { registerHooks } from 'node:module';

const ENTRY = /^content-review-connector\/(consumer|contracts)$/;

registerHooks({
  resolve(specifier, context, next) {
    const [, entry] = ENTRY.exec(specifier) ?? [];
    return next(
      entry === undefined ? specifier : new URL(`../src/${entry}/index.ts`, import.meta.url).href,
      context,
    );
  },
});
