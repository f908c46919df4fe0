/** Pressed keys: single ones at a terminal, else the letters of lines on standard input. */
import { createInterface } from 'node:readline';

const CTRL_C = '\u0003';

/** @returns a function that ends the listening and restores the terminal */
export function listenToKeys(onKey: (key: string) => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) {
    const lines = createInterface({ input: stdin });
    lines.on('line', (line) => [...line.trim()].forEach(onKey));
    return () => lines.close();
  }
  const take = (bytes: Buffer) => {
    // A terminal in raw mode sends the key instead of the signal.
    for (const key of bytes.toString())
      if (key === CTRL_C) process.kill(process.pid, 'SIGINT');
      else onKey(key);
  };
  stdin.setRawMode(true).on('data', take);
  return () => {
    stdin.setRawMode(false).off('data', take).pause();
  };
}
