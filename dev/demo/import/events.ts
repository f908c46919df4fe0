/** Records to import: the accounts that sent e-mails, reports of spam against them, and records that are neither. */
import { readEmails } from '../corpus.ts';
import { type DemoRecord, poison, withPoison } from '../ledger.ts';
import { headerOf, headersOf, printable, resultOf, titleOf } from '../mail.ts';

export const IMPORTED = 1_000;
/** Enough to make that many records of. */
const EMAILS = 2_000;
const ADDRESS = /[\w.+-]+@[\w.-]+/;

export interface ExpectedReceipt {
  readonly type: string;
  readonly data: ImportData;
  /** Subject, safe to print. */
  readonly title: string;
}

export interface ImportData {
  /** Unique id of the record. */
  readonly id: string;
  readonly [field: string]: unknown;
}

export function importEvents(): AsyncIterable<DemoRecord<ExpectedReceipt>> {
  return withPoison(good(), IMPORTED, IMPORT_POISON);
}

/** Each account when its first e-mail comes, and a report for each e-mail that is spam. */
async function* good(): AsyncGenerator<DemoRecord<ExpectedReceipt>> {
  const known = new Set<string>();
  for await (const email of readEmails(EMAILS)) {
    const headers = headersOf(email);
    const from = headerOf(headers, 'from');
    const address = ADDRESS.exec(from ?? '')?.[0].toLowerCase();
    if (address === undefined) continue;
    const message = { id: email.id, group: email.group };
    if (!known.has(address)) {
      known.add(address);
      const data = {
        id: address,
        display_name: from,
        first_seen: headerOf(headers, 'date'),
        message,
        verified: false,
      };
      yield importEvent(address, {
        type: 'account',
        data,
        title: printable(address.replace(/^.*@/, '...@')),
      });
    }
    if (resultOf(email) === 'ham') continue;
    const data = {
      id: `${email.group}/${email.id}`,
      account: address,
      message,
      subject: headerOf(headers, 'subject'),
    };
    yield importEvent(address, {
      type: 'report',
      data: { ...data, reasons: ['spam'] },
      title: titleOf(headers),
    });
  }
}

function importEvent(key: string, outcome: ExpectedReceipt): DemoRecord<ExpectedReceipt> {
  const { type, data } = outcome;
  return { key, value: JSON.stringify({ type, data }), expected: { outcome } };
}

export const IMPORT_POISON = [
  poison('not_json', '{"type":"account","data":{"id":"cut off in the mid'),
  poison('null_value', null),
  poison('no_type', JSON.stringify({ data: { id: 'of no type' } })),
  poison('no_content', JSON.stringify({ type: 'report', data: ['a list is no data'] })),
  poison(
    'type_not_allowed',
    JSON.stringify({ type: 'invoice', data: { id: 'of a type that is not configured' } }),
  ),
];
