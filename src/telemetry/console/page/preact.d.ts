/** Types of /console/preact.js, a file that the server reads from the package preact. */
export * from 'preact';
