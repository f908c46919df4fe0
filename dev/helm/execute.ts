import { type ExecFileOptions, execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Output limit. A rendered chart has a few hundred KiB. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Runs a program to its end. @throws Error with its complete output if it fails */
export async function execute(
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  try {
    const { stdout, stderr } = await run(program, [...args], {
      ...options,
      encoding: 'utf8',
      maxBuffer: MAX_OUTPUT_BYTES,
    });
    return { stdout, stderr };
  } catch (error) {
    const {
      stdout = '',
      stderr = '',
      message,
    } = error as { stdout?: string; stderr?: string; message: string };
    throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}` || message, {
      cause: error,
    });
  }
}
