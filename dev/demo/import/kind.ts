/** The import of accounts and reports: one receipt for each, once its import is complete. */
import { isDeepStrictEqual } from 'node:util';
import type { Check, Match, Verdict } from '../judge.ts';
import { type DemoKind, FAILED, oneOfEach, type Sandbox } from '../kind.ts';
import type { Screen } from '../screen.ts';
import { type Cell, counted, grouped, table } from '../table.ts';
import type { Outcome } from '../terminal.ts';
import {
  type ExpectedReceipt,
  IMPORT_POISON,
  IMPORTED,
  type ImportData,
  importEvents,
} from './events.ts';

/** Fields of a receipt that the demo reads (contracts/receipt.schema.json). */
export interface Receipt extends Outcome {
  readonly import_id: string | null;
  readonly import_status: string | null;
}

/** The data of the records that an import has, by their ids. */
type ImportFile = ReadonlyMap<string, { readonly type: string; readonly data: ImportData }>;

export const NOT_IN_FILE = 'not in the file of the import that the receipt names';

export const importDemo: DemoKind<ExpectedReceipt, Receipt> = {
  name: 'import',
  input: `${grouped(IMPORTED)} accounts and user reports, and ${IMPORT_POISON.length} poison records`,
  published: 'imported',
  output: 'a receipt for each record',
  total: IMPORTED + IMPORT_POISON.length,
  perSend: 25,
  records: importEvents,
  async checker(outcomes, sandbox) {
    const ids = new Set(outcomes.flatMap(({ import_id }) => import_id ?? []));
    const files = await Promise.all(
      [...ids].map(async (id) => [id, await readFile(id, sandbox)] as const),
    );
    return checkAgainst(new Map(files));
  },
  facts,
  samples,
};

/** The file as the service got it. */
async function readFile(id: string, { url, signal }: Sandbox): Promise<ImportFile> {
  const answer = await fetch(`${url}/sandbox/imports/${id}/content`, { signal });
  // Then nothing is in it, which the check says.
  if (!answer.ok) return new Map();
  const lines = (await answer.text()).trimEnd().split('\n');
  return new Map(lines.map((line) => JSON.parse(line)).map((record) => [record.data.id, record]));
}

/** A receipt must tell of an import that is complete and whose file has exactly this record. */
export function checkAgainst(
  files: ReadonlyMap<string, ImportFile>,
): Check<ExpectedReceipt, Receipt> {
  return ({ type, data }, { status, import_id, import_status }) => {
    if (status !== 'SUCCESS' || import_status !== 'COMPLETE') return [FAILED];
    const imported = files.get(import_id ?? '')?.get(data.id);
    return isDeepStrictEqual(imported, { type, data }) ? [] : [NOT_IN_FILE];
  };
}

function facts({ matches, wrong }: Verdict<ExpectedReceipt, Receipt>): string[] {
  const imports = new Set(matches.map(({ outcome }) => outcome.import_id)).size;
  const bad = [...wrong.values()].flat().length;
  return [
    `${counted(imports, 'file')}; ${grouped(matches.length - bad)} of ${grouped(matches.length)} are in the file that the receipt names`,
  ];
}

/** Both types. */
function samples(screen: Screen, matches: readonly Match<ExpectedReceipt, Receipt>[]): string[] {
  const rows = oneOfEach(
    matches,
    ({ expected, outcome }) => `${expected.type} ${outcome.source.partition}`,
  ).map(({ expected, outcome }): Cell[] => [
    { text: outcome.id },
    { text: expected.type },
    {
      text: outcome.import_status ?? 'none',
      style: outcome.status === 'SUCCESS' ? 'green' : 'yellow',
    },
    { text: outcome.import_id ?? 'none' },
    { text: expected.title, style: 'dim' },
  ]);
  return table(screen, ['event', 'type', 'status', 'import', 'account or subject'], rows, {
    flexible: 2,
  });
}
