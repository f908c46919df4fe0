/** A change that breaks those who rely on a published contract. */
export interface Break {
  /** Place in the file, readable for people. */
  readonly at: string;
  /** Change, and the side that it breaks. */
  readonly what: string;
}
