/** The reasons that a dead letter may have. */
export { DEAD_LETTER_REASONS as LETTER_REASONS } from '../../core/record.ts';
