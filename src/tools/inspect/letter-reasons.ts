/** The reasons that a dead letter may have. */
export { POISON_REASONS as LETTER_REASONS } from '../../core/record.ts';
