/** Options of the process as a whole. */
import { secret } from '../files.ts';
import { group } from '../option.ts';
import { bytes, choice, duration, flag, integer, optional, text } from '../values.ts';

export const processOptions = {
  http: group('The endpoint of /metrics, /livez, /readyz and the console.', {
    enabled: flag({ help: 'Whether the endpoint is served.', fallback: true }),
    host: text({
      help: 'Address to listen on, without authentication; 0.0.0.0 in a container.',
      allowed: 'a host name or an IP address',
      fallback: '127.0.0.1',
      pattern: /^[A-Za-z0-9.:_-]+$/,
    }),
    console: flag({
      help: 'Whether the console is served at /. It is read-only and shows no content.',
      fallback: true,
    }),
    search: flag({
      help: 'Whether the console can search for records and explain them. Off without http.password, unless http.host is a loopback address.',
      fallback: true,
    }),
    password: optional(
      secret('Password for the search of the console, sent by HTTP Basic with any user name.'),
    ),
    port: integer({
      help: 'Port to listen on; 0 chooses a free one and logs it.',
      fallback: 9464,
      min: 0,
      max: 65_535,
    }),
  }),
  metrics: group('Contents of /metrics.', {
    maxResults: integer({
      help: 'Maximum number of results with series of their own in decision_results_total and decisions_evaluated_total, per pipeline; others count as other.',
      fallback: 20,
      min: 0,
      max: 200,
    }),
    maxTypes: integer({
      help: 'Maximum number of content types with series of their own in the metrics type_*, per pipeline; others count as other. 0 turns these metrics off.',
      fallback: 20,
      min: 0,
      max: 200,
    }),
  }),
  memory: group('Memory limits.', {
    budget: bytes({
      help: 'Content in memory. Above it batches are sealed early, then intake pauses.',
      fallback: '64MiB',
      min: '1MiB',
      max: '64GiB',
    }),
  }),
  log: group(
    'Log lines on standard output: text on a terminal, JSON elsewhere; LOG_FORMAT=json or text overrides.',
    {
      level: choice({
        help: 'Least important lines to write. SIGUSR2 switches to debug for 15 minutes, and back (docs/logging.md).',
        of: ['debug', 'info', 'warn', 'error', 'silent'],
        fallback: 'info',
      }),
    },
  ),
  shutdown: group('Reaction to SIGTERM and SIGINT.', {
    timeout: duration({
      help: 'Time to finish open transactions and to leave the group; a second signal exits at once.',
      fallback: '5s',
      min: '100ms',
      max: '10m',
    }),
  }),
};
