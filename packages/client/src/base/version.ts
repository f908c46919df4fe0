/**
 * Version and repository from the nearest package.json. In a checkout, that file is the client's;
 * otherwise it is the installed package's.
 */
import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { parseJson } from './json/parse-json.ts';

const { version, repository } = parseJson(
  readFileSync(findPackageJSON(import.meta.url) ?? '', 'utf8'),
) as { readonly version: string; readonly repository: { readonly url: string } };

export const VERSION = version;

/** User-Agent of every request. Application firewalls reject requests without one. */
export const USER_AGENT = `content-review-connector/${VERSION}`;

/** Address of the repository. Only package.json defines it. */
export const REPOSITORY_URL = repository.url.replace(/^git\+|\.git$/g, '');

/** Address of the folder with the runbook. Alerts and the console link to its pages. */
export const RUNBOOK_URL = `${REPOSITORY_URL}/blob/main/docs/runbook/`;
