import { group } from '../option.ts';
import { bytes, choice, duration, flag, integer, text } from '../values.ts';

/** `http`: metrics and health. */
export function httpOptions() {
  return group('The endpoint of /metrics, /livez, /readyz and the console.', {
    enabled: flag({ help: 'Whether to serve it at all.', fallback: true }),
    host: text({
      help: 'Address to listen on. It has no authentication, so by default only this machine reaches it; in a container write 0.0.0.0.',
      allowed: 'a host name or an IP address',
      fallback: '127.0.0.1',
      check: (host) => (/^[A-Za-z0-9.:_-]+$/.test(host) ? undefined : ''),
    }),
    console: flag({
      help: 'Whether to serve the console at /: pipelines, batches and problems for people with a browser. It shows no content, and only reads.',
      fallback: true,
    }),
    port: integer({
      help: 'Port to listen on; 0 takes a free one and logs it.',
      fallback: 9464,
      min: 0,
      max: 65_535,
    }),
  });
}

/** `metrics`: how many series there may be. */
export function metricsOptions() {
  return group('What /metrics shows.', {
    maxResults: integer({
      help: 'Results of decisions that have a series each in decision_results_total, in each pipeline; later ones are counted as other. 0: the mix is not counted.',
      fallback: 20,
      min: 0,
      max: 200,
    }),
  });
}

/** `memory`: the budget (I7). */
export function memoryOptions() {
  return group('Bounds on memory.', {
    budget: bytes({
      help: 'Bytes of content held at once in the whole process: buffers, sealed bodies, chunks of results. Over it, batches are sealed early, then intake pauses.',
      fallback: '64MiB',
      min: '1MiB',
      max: '64GiB',
    }),
  });
}

/** `log`. */
export function logOptions() {
  return group(
    'Log lines on standard output: text at a terminal, JSON elsewhere; LOG_FORMAT=json or text decides otherwise.',
    {
      level: choice({
        help: 'The least important lines to write. SIGUSR2 changes it to debug for 15 minutes, and back (docs/logging.md).',
        of: ['debug', 'info', 'warn', 'error', 'silent'],
        fallback: 'info',
      }),
    },
  );
}

/** `shutdown`. */
export function shutdownOptions() {
  return group('What happens on SIGTERM and SIGINT.', {
    timeout: duration({
      help: 'Time to finish the transactions in hand and to leave the group. Reviews under way are left to the next owner; a second signal ends at once.',
      fallback: '5s',
      min: '100ms',
      max: '10m',
    }),
  });
}
