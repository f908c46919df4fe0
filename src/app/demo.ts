/** Runs the demo. Resolves to the exit code. */
export async function runDemo(options: { readonly keep: boolean }): Promise<number> {
  throw new Error(`not built yet: keep ${options.keep}`);
}
