/**
 * The two text formats of /metrics. prom-client's own OpenMetrics mode takes `_total` from the names of its counters for good, so that
 * the plain format cannot be had from the same registry; and it has no units. The second is made from the first instead.
 */

export const OPENMETRICS_CONTENT_TYPE =
  'application/openmetrics-text; version=1.0.0; charset=utf-8';

/** Units that OpenMetrics knows, as the ends of names. */
const UNIT = /_(seconds|bytes)$/;
const COMMENT = /^# (HELP|TYPE) (\S+) (.*)$/;

/** @param text in the Prometheus text format, as prom-client writes it: HELP, TYPE, then the samples of each metric */
export function openMetricsOf(text: string): string {
  const lines: string[] = [];
  let help = '';
  for (const line of text.split('\n')) {
    const [, keyword, name = '', rest = ''] = line.startsWith('#')
      ? (COMMENT.exec(line) ?? [])
      : [];
    if (keyword === 'HELP') {
      // Quotes are escaped here, and not there.
      help = rest.replaceAll('"', '\\"');
    } else if (keyword === 'TYPE') {
      const family = rest === 'counter' ? name.replace(/_total$/, '') : name;
      lines.push(`# TYPE ${family} ${rest}`);
      const unit = UNIT.exec(family)?.[1];
      if (unit !== undefined) lines.push(`# UNIT ${family} ${unit}`);
      lines.push(`# HELP ${family} ${help}`);
    } else if (line !== '') {
      lines.push(line.endsWith(' Nan') ? `${line.slice(0, -3)}NaN` : line);
    }
  }
  return `${lines.join('\n')}\n# EOF\n`;
}

/** Whether a client that accepts this wants OpenMetrics rather than the Prometheus text format. */
export function prefersOpenMetrics(accept: string | undefined): boolean {
  let open = 0;
  let plain = 0;
  for (const part of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const q = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (!(q > 0)) continue;
    const version =
      parameters.find((parameter) => parameter.startsWith('version='))?.slice(8) ?? '1.0.0';
    if (type === 'application/openmetrics-text' && version === '1.0.0') open = Math.max(open, q);
    else if (type === 'text/plain') plain = Math.max(plain, q);
  }
  return open > 0 && open >= plain;
}
