/** Rule that a judge checks. */
export type Rule =
  /** The invariants of the design. */
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  /** A dead letter has a reason that nothing in the history caused. */
  | 'reason'
  /** A terminal record contradicts the service. */
  | 'truth'
  /** An owner violated its acknowledgement of a pause or drain. */
  | 'command'
  /** A record is not settled after the faults have stopped. */
  | 'settles'
  /** Everything is settled, but memory, a wait reason, a timer or a transaction remains. */
  | 'rest'
  /** The oldest waiting event is reported although none waits, or not reported although one waits. */
  | 'age'
  /** An instance does not account for every record that it consumed. */
  | 'balance'
  /** The service received more rows than the quota allows. */
  | 'quota'
  /** A connector refused to run with a valid journal and source. */
  | 'refused'
  /** A loop neither progressed nor reported a wait reason, although all of its requests got responses. */
  | 'stuck'
  /** An unexpected error. */
  | 'error';

export class Violation extends Error {
  override readonly name = 'Violation';
  readonly rule: Rule;

  constructor(rule: Rule, message: string, options?: ErrorOptions) {
    super(`${rule}: ${message}`, options);
    this.rule = rule;
  }
}
