/**
 * Hides the TimeoutNegativeWarning of Node about kafkajs: some of its timers are slightly negative and fire at once, which
 * is harmless. Every other warning, and this one from other code, still appears.
 */
export function quietKafkajs(): void {
  for (const print of process.listeners('warning'))
    process.off('warning', print).on('warning', (warning) => {
      const isNegative = warning.name === 'TimeoutNegativeWarning';
      if (!isNegative || !/[\\/]kafkajs[\\/]/.test(warning.stack ?? '')) print(warning);
    });
}
