/** Where files are: in the storage's directories, and at its addresses. */
export const STORAGE_PREFIX = '/storage';

export class Folder {
  /** Also the directory's name. */
  readonly name: string;
  readonly #extension: string;

  constructor(name: string, extension: string) {
    this.name = name;
    this.#extension = extension;
  }

  fileName(id: string): string {
    return `${id}.${this.#extension}`;
  }

  /** Path of its address. */
  path(id: string): string {
    return `${STORAGE_PREFIX}/${this.name}/${this.fileName(id)}`;
  }

  /** The id whose path this is; undefined for a path of another folder. */
  idOf(path: string): string | undefined {
    const [, id] = /\/([\w-]+)\.\w+$/.exec(path) ?? [];
    return id !== undefined && this.path(id) === path ? id : undefined;
  }
}

export const UPLOADS = new Folder('uploads', 'csv');
export const RESULTS = new Folder('results', 'csv');
export const IMPORTS = new Folder('imports', 'jsonl');
