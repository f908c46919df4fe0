/** Check of the Node version. It must run on any version, so this file has no imports and no modern syntax. */

/** Oldest version of Node that the connector and its libraries support (package.json, engines). */
const OLDEST = [24, 0] as const;

/** Returns an error message if Node is too old. @param version as in `process.versions.node` */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `content-review-connector needs Node.js ${OLDEST.join('.')} or newer; this is ${version}.\nInstall a newer one (https://nodejs.org), or use \`npm run\` in the repository, which brings its own.\n`;
}
