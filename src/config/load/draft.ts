import type { z } from 'zod';
import { infoOf, outputName } from '../option.ts';

/** The configuration as far as it could be understood: what is wrong for another reason already is undefined. */
export type Partially<T> = T extends readonly (infer E)[]
  ? readonly Partially<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Partially<T[K]> | undefined }
    : T;

/**
 * What can be understood of a document that may have mistakes: each option by itself, undefined where it is wrong. So the
 * checks across options need not wait until the rest is right. Of a secret there is only whether one is written: `{}`.
 */
export function draftOf<T>(schema: z.ZodType<T>, raw: unknown): Partially<T> {
  return draft(schema, raw ?? undefined) as Partially<T>;
}

function draft(schema: z.ZodType, raw: unknown): unknown {
  const info = infoOf(schema);
  if (info.kind === 'list')
    return Array.isArray(raw) ? raw.map((entry) => draft(info.item, entry ?? undefined)) : [];
  if (info.kind === 'value') {
    if (info.secret) return raw === undefined || raw === '' ? undefined : {};
    return schema.safeParse(raw).data;
  }
  const members =
    typeof raw === 'object' && raw !== null && !Array.isArray(raw)
      ? (raw as Record<string, unknown>)
      : {};
  const result: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(info.shape)) {
    const entry = Object.hasOwn(members, key) ? members[key] : undefined;
    result[outputName(key, member)] = draft(member, entry ?? undefined);
  }
  return result;
}
