/** Values of labels that others choose. */
import { FirstNames } from '../../base/first-names.ts';

const NAME = /^[\p{L}\p{N}][\p{L}\p{N} _.:/-]{0,63}$/u;

/** Stands for all other values. */
export const OTHER = 'other';

/** Names of results or types that may be labels: few, and of a form that shows no content (I6). */
export const labelNames = (max: number): FirstNames =>
  new FirstNames(max, (text) => NAME.test(text));
