/** Writes the type declarations that are generated from contracts/. Run it after changing a JSON Schema. */
import { writeFileSync } from 'node:fs';
import { CONTRACTS, readSchema } from './contracts.ts';
import { declarations } from './declarations.ts';

export const DECLARATIONS = new URL('../../src/contracts/declarations.ts', import.meta.url);

export function renderedDeclarations(): string {
  return declarations(CONTRACTS.map(({ name }) => readSchema(name)));
}

if (import.meta.main) {
  writeFileSync(DECLARATIONS, renderedDeclarations());
  process.stdout.write(`wrote ${DECLARATIONS.pathname}\n`);
}
