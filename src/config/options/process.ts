/** Options of the process as a whole. */
import { group } from '../option.ts';
import { bytes, choice, duration, flag, integer, text } from '../values.ts';

export const processOptions = {
  http: group('The endpoint of /metrics, /livez, /readyz and the console.', {
    enabled: flag('Whether the endpoint is served.', true),
    host: text({
      help: 'Address to listen on, without authentication; 0.0.0.0 in a container.',
      allowed: 'a host name or an IP address',
      fallback: '127.0.0.1',
      pattern: /^[A-Za-z0-9.:_-]+$/,
    }),
    console: flag(
      'Whether the console is served at /. It is read-only and shows no content.',
      true,
    ),
    port: integer('Port to listen on; 0 chooses a free one and logs it.', 9464, 0, 65_535),
  }),
  memory: group('Memory limits.', {
    budget: bytes(
      'Content in memory. Above it batches are sealed early, then intake pauses.',
      '64MiB',
      '1MiB',
      '64GiB',
    ),
  }),
  log: group(
    'Log lines on standard output: text on a terminal, JSON elsewhere; LOG_FORMAT=json or text overrides.',
    {
      level: choice(
        'Least important lines to write. SIGUSR2 switches to debug for 15 minutes, and back (docs/logging.md).',
        ['debug', 'info', 'warn', 'error', 'silent'],
        'info',
      ),
    },
  ),
  shutdown: group('Reaction to SIGTERM and SIGINT.', {
    timeout: duration(
      'Time to finish open transactions and to leave the group; a second signal exits at once.',
      '5s',
      '100ms',
      '10m',
    ),
  }),
};
