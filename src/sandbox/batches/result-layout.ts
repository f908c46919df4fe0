/** The columns of the result file (service-interface.md 2.3), in the order that the policy wants. */
import { CONTENT_COLUMN, RESULT_COLUMNS, RESULT_SUFFIX } from '../../service/contract.ts';
import type { Verdict } from '../policy/judge.ts';
import type { Policy } from '../policy/schema.ts';

export interface ResultLayout {
  readonly header: readonly string[];
  row(cells: readonly string[], verdict: Verdict): string[];
  /** Where a column of the upload stands in the result. */
  indexOf(uploadColumn: number): number;
}

type Cell = (cells: readonly string[], verdict: Verdict) => string;
/** A column; `from` is the upload's column that it repeats. */
interface Column {
  readonly name: string;
  readonly from?: number;
  readonly cell: Cell;
}

/** Metadata columns come back under their own names, also when the service has a column of that name. */
export function resultLayout(header: readonly string[], policy: Policy): ResultLayout {
  const content = header.indexOf(CONTENT_COLUMN);
  const expected = header.indexOf(RESULT_COLUMNS.expected);
  const copy = (name: string, from: number): Column => ({
    name,
    from,
    cell: (cells) => cells[from] ?? '',
  });
  const metadata = header.flatMap((name, from) =>
    from === content || from === expected ? [] : [copy(name, from)],
  );
  const fields: Readonly<Record<Policy['results']['columns'][number], readonly Column[]>> = {
    content: [copy(RESULT_COLUMNS.content, content)],
    status: [{ name: RESULT_COLUMNS.status, cell: (_, verdict) => verdict.status }],
    result: [{ name: policy.service.name + RESULT_SUFFIX, cell: (_, verdict) => verdict.result }],
    expected: [copy(RESULT_COLUMNS.expected, expected)],
    labels: [{ name: RESULT_COLUMNS.labels, cell: (_, verdict) => verdict.labels }],
    metadata,
  };
  const columns = policy.results.columns.flatMap((field) => fields[field]);
  return {
    header: columns.map(({ name }) => name),
    row: (cells, verdict) => columns.map(({ cell }) => cell(cells, verdict)),
    indexOf: (uploadColumn) => columns.findIndex(({ from }) => from === uploadColumn),
  };
}
