/** Where the state of an import is asked for: service-interface.md 4.4 does not show it, so it can be set. */
import { PATHS } from './contract.ts';

/** What stands for the import's id in the path of the status check. */
export const IMPORT_ID_PLACEHOLDER = '{import_id}';

/** Where the status check of an import may be (4.4 does not show it): below base_url. */
export const DEFAULT_IMPORT_PATH = `${PATHS.imports}/${IMPORT_ID_PLACEHOLDER}`;

/** Why a text cannot be the path of the status check; undefined when it can. The id may also stand in a query. */
export function problemWithImportPath(template: string): string | undefined {
  if (!template.startsWith('/')) return 'must begin with a slash: it is below base_url';
  if (!template.includes(IMPORT_ID_PLACEHOLDER)) return `must contain ${IMPORT_ID_PLACEHOLDER}`;
  const rest = template.replaceAll(IMPORT_ID_PLACEHOLDER, '');
  if (!/^[\x21-\x7e]*$/.test(rest))
    return 'must hold no spaces and nothing beyond ASCII: escape them (%20)';
  if (/[#{}\\]/.test(rest))
    return `must hold no #, no backslash and no braces but those of ${IMPORT_ID_PLACEHOLDER}`;
  // Also as an address reads them: escaped, with or without an id in between. They would leave what is below base_url.
  const steps = (template.split('?')[0] ?? '').replaceAll(/%2e/gi, '.').split('/');
  if (steps.some((step) => step === '.' || step === '..'))
    return 'must hold no dot segments (. and ..): they name another place';
  return undefined;
}
