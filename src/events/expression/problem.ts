/** Why an expression has no value for a record. Messages never show what the record holds (I6). */
export class EvaluationProblem extends Error {
  override readonly name = 'EvaluationProblem';
}
