import { readFileSync } from 'node:fs';

const { repository } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

/** Address of the repository, which package.json defines for alerts, chart and image too. */
export const REPOSITORY_URL: string = repository.url.replace(/^git\+|\.git$/g, '');
