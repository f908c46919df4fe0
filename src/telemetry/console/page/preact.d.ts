/** Types of /console/preact.js, which the server reads from the package. */
export * from 'preact';
