/** Import of accounts that sent e-mails, and of spam reports: one receipt for each, once its import is complete. */
import { isDeepStrictEqual } from 'node:util';
import { headerOf, headersOf, printable, readEmails, resultOf, titleOf } from './corpus.ts';
import { type DemoRecord, FAILED, type Outcome, type OutcomeCheck } from './judge.ts';
import { type DemoKind, poison, type Sandbox, withPoison } from './pipeline.ts';
import { counted, grouped } from './screen.ts';

const IMPORTED = 1_000;
/** Enough for that many records. */
const EMAILS = 2_000;
const ADDRESS = /[\w.+-]+@[\w.-]+/;

export interface ExpectedReceipt {
  readonly type: string;
  readonly data: ImportData;
  /** Subject or address, safe to print. */
  readonly title: string;
}

interface ImportData {
  /** Unique. */
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Members of a receipt that the demo reads (contracts/receipt.schema.json). */
export interface Receipt extends Outcome {
  readonly import_id: string | null;
  readonly import_status: string | null;
}

const IMPORT_POISON = [
  poison('not_json', '{"type":"account","data":{"id":"cut off in the mid'),
  poison('null_value', null),
  poison('no_type', JSON.stringify({ data: { id: 'of no type' } })),
  poison('no_content', JSON.stringify({ type: 'report', data: ['a list is no data'] })),
  poison(
    'type_not_allowed',
    JSON.stringify({ type: 'invoice', data: { id: 'of a type that is not configured' } }),
  ),
];

/** Yields each account with its first e-mail, and a report for each e-mail that is spam. */
async function* importEvents(): AsyncGenerator<DemoRecord<ExpectedReceipt>> {
  const known = new Set<string>();
  for await (const email of readEmails(EMAILS)) {
    const headers = headersOf(email);
    const from = headerOf(headers, 'from');
    const address = ADDRESS.exec(from ?? '')?.[0].toLowerCase();
    if (address === undefined) continue;
    const event = (type: string, data: ImportData, title: string) => ({
      key: address,
      value: JSON.stringify({ type, data }),
      expected: { outcome: { type, data, title } },
    });
    const message = { id: email.id, group: email.group };
    if (!known.has(address)) {
      known.add(address);
      const first_seen = headerOf(headers, 'date');
      const data = { id: address, display_name: from, first_seen, message, verified: false };
      yield event('account', data, printable(address.replace(/^.*@/, '...@')));
    }
    if (resultOf(email) === 'ham') continue;
    const id = `${email.group}/${email.id}`;
    const subject = headerOf(headers, 'subject');
    const data = { id, account: address, message, subject, reasons: ['spam'] };
    yield event('report', data, titleOf(headers));
  }
}

/** The data of the records of an import, by their ids. */
type ImportFile = ReadonlyMap<string, { readonly type: string; readonly data: ImportData }>;

export const NOT_IN_FILE = 'not in the file of the import that the receipt names';

export const importDemo: DemoKind<ExpectedReceipt, Receipt> = {
  name: 'import',
  input: `${grouped(IMPORTED)} accounts and user reports, and ${IMPORT_POISON.length} poison records`,
  published: 'imported',
  output: 'a receipt for each record',
  total: IMPORTED + IMPORT_POISON.length,
  perSend: 25,
  records: () => withPoison(importEvents(), IMPORTED, IMPORT_POISON),
  async checker(outcomes, sandbox) {
    const ids = new Set(outcomes.flatMap(({ import_id }) => import_id ?? []));
    const files = await Promise.all(
      [...ids].map(async (id) => [id, await readFile(id, sandbox)] as const),
    );
    return checkAgainst(new Map(files));
  },
  facts({ matches, wrong }) {
    const imports = new Set(matches.map(({ outcome }) => outcome.import_id)).size;
    const bad = [...wrong.values()].flat().length;
    return [
      `${counted(imports, 'file')}; ${grouped(matches.length - bad)} of ${grouped(matches.length)} are in the file that the receipt names`,
    ];
  },
  samples: {
    heads: ['event', 'type', 'status', 'import', 'account or subject'],
    groupOf: ({ expected, outcome }) => `${expected.type} ${outcome.source.partition}`,
    cells: ({ expected, outcome }) => [
      { text: outcome.id },
      { text: expected.type },
      {
        text: outcome.import_status ?? 'none',
        style: outcome.status === 'SUCCESS' ? 'green' : 'yellow',
      },
      { text: outcome.import_id ?? 'none' },
      { text: expected.title, style: 'dim' },
    ],
  },
};

/** The file as the service received it. */
async function readFile(id: string, { url, signal }: Sandbox): Promise<ImportFile> {
  const response = await fetch(`${url}/sandbox/imports/${id}/content`, { signal });
  // The check then reports that its records are not in it.
  if (!response.ok) return new Map();
  const lines = (await response.text()).trimEnd().split('\n');
  return new Map(lines.map((line) => JSON.parse(line)).map((record) => [record.data.id, record]));
}

/** A receipt must name a complete import whose file has exactly this record. */
const checkAgainst =
  (files: ReadonlyMap<string, ImportFile>): OutcomeCheck<ExpectedReceipt, Receipt> =>
  ({ type, data }, { status, import_id, import_status }) => {
    if (status !== 'SUCCESS' || import_status !== 'COMPLETE') return [FAILED];
    const imported = files.get(import_id ?? '')?.get(data.id);
    return isDeepStrictEqual(imported, { type, data }) ? [] : [NOT_IN_FILE];
  };
