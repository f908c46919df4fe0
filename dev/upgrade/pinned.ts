/** Archive of the version that upgrades are tested from. */

export const PINNED_ARCHIVE = new URL(
  '../../test/integration/upgrade/pinned.tar.gz',
  import.meta.url,
);
export const PINNED_NOTE = new URL('../../test/integration/upgrade/pinned.json', import.meta.url);

/** Files that a version needs to run from its sources, beside the packages. */
export const RUNNABLE = ['src', 'packages', 'contracts', 'package.json'] as const;

export interface PinnedNote {
  readonly version: string;
  readonly commit: string;
  /** Date of the commit, as YYYY-MM-DD. */
  readonly date: string;
}
