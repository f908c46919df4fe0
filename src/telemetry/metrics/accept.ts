/** Choice of the exposition format by the Accept header of a scraper. */

const MAX_CHARACTERS = 1_000;

/** Returns true if OpenMetrics is named with a higher quality than the text format. */
export function prefersOpenMetrics(accept: string): boolean {
  const quality = (type: string): number =>
    Math.max(
      0,
      ...accept
        .slice(0, MAX_CHARACTERS)
        .toLowerCase()
        .split(',')
        .map((range) => range.split(';').map((part) => part.trim()))
        .filter(([named]) => named === type)
        .map((parts) => Number(parts.find((part) => part.startsWith('q='))?.slice(2) ?? 1) || 0),
    );
  return quality('application/openmetrics-text') > quality('text/plain');
}
