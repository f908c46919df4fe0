/**
 * Called by npm after `npm ci`. Warns about a Node on the PATH that is older than the connector
 * requires; npm scripts are unaffected, because they run the installed package `node`. This file is
 * JavaScript without imports, because without the development packages the older Node runs it.
 */
const OLDEST = [24, 0];
const [, version = ''] = /\bnode\/v([\d.]+)/.exec(process.env.npm_config_user_agent ?? '') ?? [];
const [major = 0, minor = 0] = version.split('.').map(Number);
const isOlder = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
if (version !== '' && isOlder && version !== process.versions.node)
  // Standard output belongs to `npm pack --json`.
  process.stderr.write(
    `Node ${version} is on the PATH; the connector needs ${OLDEST.join('.')}. Use npm scripts, which run Node ${process.versions.node}: npm start -- <command>, npm run demo, npm test.\n`,
  );
