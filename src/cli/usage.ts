/** Something the user has to say otherwise. The message says what. */
export class UsageProblem extends Error {
  override readonly name = 'UsageProblem';
}
