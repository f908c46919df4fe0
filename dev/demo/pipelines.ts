/** All pipelines of the demo. */
import { importDemo } from './import/kind.ts';
import { lookupDemo } from './lookup/kind.ts';
import { type DemoPipeline, demoPipeline } from './pipeline.ts';
import { reviewDemo } from './review/kind.ts';
import type { DemoNames } from './topics.ts';

export function demoPipelines({ pipelines }: DemoNames): DemoPipeline[] {
  return [
    demoPipeline(reviewDemo, pipelines.review),
    demoPipeline(importDemo, pipelines.import),
    demoPipeline(lookupDemo, pipelines.lookup),
  ];
}
