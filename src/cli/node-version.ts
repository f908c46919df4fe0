/** Must run on any Node: no imports, nothing new. */

/** The oldest Node that the connector and its libraries run on (package.json, engines). */
const OLDEST = [24, 0] as const;

/**
 * Returns the message for a Node that is too old, or undefined. `version` as in
 * `process.versions.node`.
 */
export function nodeVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `content-review-connector needs Node.js ${OLDEST.join('.')} or newer; this is ${version}.\nInstall a newer one (https://nodejs.org), or use \`npm run\` in the repository, which brings its own.\n`;
}
