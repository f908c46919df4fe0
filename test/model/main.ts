/**
 * Runs the model by hand: `npm run model -- [--trace] [names]`. The default is all configurations. Prints a
 * line for each configuration, and exits with 1 if a result differs from the expected one.
 */
import { COUNTEREXAMPLES, type Configuration, DESIGN } from './configurations.ts';
import { describe } from './invariants.ts';
import { runConfiguration, unexpected } from './run.ts';

const ALL = [...DESIGN, ...COUNTEREXAMPLES];

function chosen(names: readonly string[]): readonly Configuration[] {
  if (names.length === 0) return ALL;
  return names.flatMap((name) => {
    const found = ALL.filter((configuration) => configuration.name === name);
    if (found.length === 0)
      throw new Error(
        `unknown configuration "${name}"; known ones: ${ALL.map((one) => one.name).join(' ')}`,
      );
    return found;
  });
}

function run(configuration: Configuration, withTrace: boolean): boolean {
  const startedMs = performance.now();
  const { name, records } = configuration;
  const { model, outcome } = runConfiguration(configuration, {
    // With symmetry, instances could swap names between the steps of a trace.
    symmetry: !withTrace,
    onProgress: (explored, known) =>
      process.stderr.write(`  ${name}: ${explored} explored, ${known} found\n`),
  });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const wrong = withTrace ? undefined : unexpected(configuration, outcome);
  const { found, states } = outcome;
  const what = outcome.found === 'violation' ? `: ${outcome.what}` : '';
  const size =
    'transitions' in outcome
      ? `${states} states, ${outcome.transitions} transitions`
      : `${states} states`;
  const done = outcome.found === 'live' ? `, ${outcome.done} settled` : '';
  process.stdout.write(
    `${name} (${records}): ${found}${what}; ${size}${done}, ${seconds} s${wrong === undefined ? '' : `  WRONG: ${wrong}`}\n`,
  );
  if (withTrace && 'trace' in outcome) {
    outcome.trace.steps.forEach((step, index) => {
      process.stdout.write(`  ${String(index + 1).padStart(2)}. ${step}\n`);
    });
    process.stdout.write(`  end: ${describe(model, outcome.trace.end)}\n`);
  }
  return wrong === undefined;
}

const names = process.argv.slice(2);
const withTrace = names.includes('--trace');
try {
  const results = chosen(names.filter((name) => name !== '--trace')).map((configuration) =>
    run(configuration, withTrace),
  );
  process.exitCode = results.every(Boolean) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
