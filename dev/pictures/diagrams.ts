/** Pictures that need no run: each is the same text whenever it is drawn. */
import { architecture } from './architecture.ts';
import { batchLife } from './batch-life.ts';
import { firstAlert } from './first-alert.ts';
import { oneEvent } from './one-event.ts';

export const IMAGES = new URL('../../docs/images/', import.meta.url);

/** Drawings by file name. */
export const DIAGRAMS: Readonly<Record<string, () => string>> = {
  'architecture.svg': architecture,
  'batch-life.svg': batchLife,
  'first-alert.svg': firstAlert,
  'one-event.svg': oneEvent,
};

/** Recorded from a run of the demo. */
export const RECORDED = [
  'console-dark.png',
  'console-light.png',
  'console-outage-phone.png',
  'dashboard.svg',
  'demo-broken.svg',
  'demo.svg',
  'trace.svg',
] as const;
