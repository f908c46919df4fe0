/** Runs command lines in this process. */
import { runCli } from '../../../src/cli/program.ts';

export interface ToolEnd {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export async function tool(...args: string[]): Promise<ToolEnd> {
  let out = '';
  let err = '';
  const code = await runCli(args, {
    env: {},
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}

/** Returns the JSON output and the exit code of a command. */
export async function toolJson<T>(...args: string[]): Promise<T & { readonly code: number }> {
  const { code, out, err } = await tool(...args, '--json');
  try {
    return { ...(JSON.parse(out) as T), code };
  } catch (error) {
    throw new Error(`${args.join(' ')} ended with ${code} and no JSON: ${out}${err}`, {
      cause: error,
    });
  }
}
