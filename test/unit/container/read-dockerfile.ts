/** Reads the Dockerfile syntax that this repository uses, without heredocs and ONBUILD, and with `\` as the escape. */

export interface Instruction {
  /** Name in capitals. */
  readonly name: string;
  /** Arguments, with continued lines joined and ARGs not replaced. */
  readonly value: string;
}

export interface Stage {
  /** Base image or stage, with ARGs replaced by their defaults. */
  readonly from: string;
  /** Name after AS, or undefined for the last stage. */
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

export interface Dockerfile {
  /** Defaults of the ARGs before the first FROM. */
  readonly args: ReadonlyMap<string, string>;
  readonly stages: readonly Stage[];
}

export function readDockerfile(text: string): Dockerfile {
  const args = new Map<string, string>();
  const stages: { from: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const instruction of instructionsOf(text)) {
    const stage = stages.at(-1);
    if (instruction.name === 'FROM') {
      const [, image = '', name] =
        /^(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?$/i.exec(instruction.value) ?? [];
      stages.push({ from: replaceArgs(image, args), name, instructions: [] });
    } else if (stage !== undefined) stage.instructions.push(instruction);
    else if (instruction.name === 'ARG') {
      const [name = '', value = ''] = instruction.value.split(/=(.*)/s);
      args.set(name, value);
    }
  }
  return { args, stages };
}

/** Returns the shell command of a RUN without its options, such as `--mount`. */
export const shellCommand = (value: string): string => value.replace(/^(?:--\S+\s+)+/, '');

/**
 * Returns the words of CMD, ENTRYPOINT or HEALTHCHECK … CMD. @throws Error if they are not in JSON form, because
 * another form would start a shell
 */
export function execForm(value: string): string[] {
  const json = /\[.*\]$/s.exec(value)?.[0];
  const words: unknown = json === undefined ? undefined : JSON.parse(json);
  if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
    throw new Error(`not a JSON list of strings: ${value}`);
  return words;
}

function instructionsOf(text: string): Instruction[] {
  const joined = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n\s*/g, '');
  return joined
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', value = ''] = /^\s*(\w+)\s+(.*)$/.exec(line) ?? [];
      return { name: name.toUpperCase(), value: value.trim() };
    });
}

function replaceArgs(text: string, args: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{(\w+)\}/g, (whole, name: string) => args.get(name) ?? whole);
}
