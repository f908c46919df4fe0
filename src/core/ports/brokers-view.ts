/** View of the Kafka brokers of a process for people (the console). */
export interface BrokersView {
  /** Time since a broker last answered, ms; null: none has yet. */
  readonly heardAgoMs: number | null;
  /** Brokers that requests were sent to within the last minute. */
  readonly brokers: readonly {
    /** `host:port`. */
    readonly address: string;
    /** Time since the first request that it has not answered since, ms; 0 while it responds. */
    readonly silentMs: number;
  }[];
}
