/** A change that breaks those who rely on a published contract. */
export interface Break {
  /** Where in the file, as a person would point at it. */
  readonly at: string;
  /** What was changed, and whom it breaks. */
  readonly what: string;
}
