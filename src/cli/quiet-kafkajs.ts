/**
 * kafkajs computes some of its timers as slightly negative, about which Node warns each time. It is harmless (the timer
 * fires at once), and nothing an operator can act on. Every other warning, and this one from elsewhere, still appears.
 */
export function quietKafkajs(): void {
  const emit = process.emitWarning.bind(process);
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]) => {
    const type =
      warning instanceof Error
        ? warning.name
        : typeof rest[0] === 'object' && rest[0] !== null
          ? (rest[0] as { type?: string }).type
          : rest[0];
    if (type === 'TimeoutNegativeWarning' && /[\\/]kafkajs[\\/]/.test(new Error().stack ?? ''))
      return;
    (emit as (...args: unknown[]) => void)(warning, ...rest);
  }) as typeof process.emitWarning;
}
