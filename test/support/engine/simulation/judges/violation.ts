/** Rule that a judge checks. */
export type Rule =
  /** The invariants of the design. */
  | 'I1'
  | 'I2'
  | 'I3'
  | 'I4'
  | 'I5'
  | 'I6'
  /** A dead letter whose reason nothing explains. */
  | 'reason'
  /** A terminal record contradicts the service. */
  | 'truth'
  /** An acknowledged pause or drain does not hold. */
  | 'command'
  /** Faults have stopped, and still something is not settled. */
  | 'settles'
  /** All is settled, and still something is held: memory, a wait reason, a timer, an open transaction. */
  | 'rest'
  /** The oldest event that waits is told while none does, or not told while one does. */
  | 'age'
  /** An instance does not account for each record that it has taken. */
  | 'balance'
  /** The service received more rows than the quota allows. */
  | 'quota'
  /** A connector refused to run on a journal and a source with which nothing is wrong. */
  | 'refused'
  /** A loop neither made progress nor said why it waits, though everything that it asked was answered. */
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
