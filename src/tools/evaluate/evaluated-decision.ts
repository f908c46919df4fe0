/** Members of a decision that an evaluation uses. Another application may have written anything. */
import { isObject } from '../../../packages/client/src/base/json/is-object.ts';

export interface EvaluatedDecision {
  readonly status: 'SUCCESS' | 'ERROR';
  readonly type: string;
  /** Names of the labels that apply. */
  readonly labels: ReadonlySet<string>;
  readonly result: string | undefined;
  readonly expected: string | undefined;
}

/** @returns undefined for a value that is no decision */
export function evaluatedDecision(members: object): EvaluatedDecision | undefined {
  const { status, result, expected_result, labels, batch } = members as Record<string, unknown>;
  if (status !== 'SUCCESS' && status !== 'ERROR') return undefined;
  if (!isObject(batch) || typeof batch.type !== 'string') return undefined;
  const applied = (Array.isArray(labels) ? labels : []).flatMap((label: unknown) =>
    isObject(label) && label.applied === true && typeof label.name === 'string' ? label.name : [],
  );
  return {
    status,
    type: batch.type,
    labels: new Set(applied),
    result: textOf(result),
    expected: textOf(expected_result),
  };
}

/** Returns a text; an empty one counts as missing. */
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
