/**
 * Resolves the packages to their sources, so that examples run without a build: npm run example --
 * examples/typescript/consumer.ts
 */
import { registerHooks } from 'node:module';

const SOURCES = new Map([
  ['content-review-connector/contracts', '../contracts/index.js'],
  ['content-review-consumer', '../packages/consumer/src/index.ts'],
]);

registerHooks({
  resolve(specifier, context, next) {
    const source = SOURCES.get(specifier);
    return next(source === undefined ? specifier : new URL(source, import.meta.url).href, context);
  },
});
