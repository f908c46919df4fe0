/** Where results go, once it is open. */
export interface Output {
  /** @returns false when nobody reads any more: nothing is written from then on. @throws OutputFailed */
  write(bytes: Uint8Array): Promise<boolean>;
  /** All is there. @throws OutputFailed; BadOutput when a file of that name has come up meanwhile. */
  complete(): Promise<void>;
  /** Nothing of a file remains. Repeatable, also after `complete`. */
  discard(): Promise<void>;
}
