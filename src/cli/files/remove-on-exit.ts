import { rmSync } from 'node:fs';

const files = new Set<string>();
let armed = false;

/** Removes a file when the process exits, however soon. @returns takes it back */
export function removeOnExit(file: string): () => void {
  if (!armed) process.on('exit', removeAll);
  armed = true;
  files.add(file);
  return () => files.delete(file);
}

function removeAll(): void {
  for (const file of files) rmSync(file, { force: true });
}
