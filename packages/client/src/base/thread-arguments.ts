/** Arguments of Node for worker threads. */

/**
 * Keeps the environment, which may hold keys (I6), out of the thread's section of a diagnostic
 * report from its first moment: a setting in its entry would come after Node's own start. Replaces
 * the arguments of the process, whose preloaded modules are not meant for threads.
 */
export const REPORT_WITHOUT_ENVIRONMENT = ['--report-exclude-env'];
