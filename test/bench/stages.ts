/**
 * `npm run bench -- --stages`: the way of an item, stage by stage, each alone and in one thread. A regression of the whole has a name
 * here. Sockets, kafkajs and the work of a batch are not in it.
 */
import { getHeapStatistics } from 'node:v8';
import { BufferPool } from '../../src/core/bytes/buffer-pool.ts';
import type { ResultSlice } from '../../src/core/bytes/result-slice.ts';
import { TerminalRecords } from '../../src/core/bytes/terminal-records.ts';
import { CoordinateSet } from '../../src/core/journal/job.ts';
import type { ContentItem, SourceRecord } from '../../src/core/record.ts';
import { OutgoingBatch } from '../../src/kafka/producer/outgoing-batch.ts';
import { planBatches } from '../../src/kafka/producer/send-plan.ts';
import { readPieces } from '../../src/kafka/records/index.ts';
import { reviewKind } from '../../src/kinds/review/index.ts';
import { resultFileReader } from '../../src/kinds/review/results/result-files.ts';
import type { ReviewService } from '../../src/kinds/service-ports.ts';
import { type RecordOf, realisticEvents } from './events.ts';
import { encode } from './load.ts';
import { resultFile } from './result-file.ts';

const ROWS = 5_000;
const RECORDS_OF_A_BATCH = 500;
const ROUNDS = 40;
const WARM = 10;
const LIMITS = {
  maxRecordBytes: 8 * 1024 * 1024,
  maxHeaders: 1_000,
  maxBatchUnpackedBytes: 1024 ** 3,
};
const JOB = {
  jobId: 'job',
  remoteId: 'batch',
  type: 'post',
  attempt: 1,
  rowKey: 'AAECAwQFBgcICQoLDA0ODw',
  decidedAtMs: 1_700_000_000_000,
};

/** Nothing of it is called by the stages. */
const SERVICE = {} as ReviewService;

export async function measureStages(print: (text: string) => void): Promise<void> {
  const pool = new BufferPool(8 * 1024 * 1024);
  const kind = reviewKind({ topic: 'content' }, SERVICE);
  const read = resultFileReader({ topic: 'content', resultColumn: undefined }, () => {});
  const response = responseOf(realisticEvents());
  const decode = (record: SourceRecord): ContentItem => {
    const decoded = kind.decode(record, 0);
    if (!('item' in decoded)) throw new Error(JSON.stringify(decoded));
    return decoded.item;
  };
  const eachRecord = async (take: (record: SourceRecord) => void) => {
    const fetched = { partition: 0, fetchOffset: 0, endOffset: ROWS, bytes: response, aborted: [] };
    for await (const { records } of readPieces(fetched, LIMITS))
      for (const record of records) take(record);
  };
  const upload = async () => {
    const sink = kind.rows(pool, JOB.rowKey);
    await eachRecord((record) => sink.add(decode(record)));
    return await sink.finish();
  };
  const sent = await upload();
  const file = resultFile(Buffer.from(sent.body));
  sent.release();
  const slices: ResultSlice[] = [];
  for await (const slice of read(piecesOf(file), {
    job: () => JOB,
    expectedRows: ROWS,
  }))
    slices.push(slice);
  const all = CoordinateSet.of(
    slices.flatMap((slice) => Array.from({ length: slice.length }, (_, row) => at(slice, row))),
  );
  const chunk = new TerminalRecords();
  const settle = () => {
    chunk.clear();
    const left = all.clone();
    for (const slice of slices) {
      for (let row = 0; row < slice.length; row++) {
        chunk.addBytes(
          slice.partition(row),
          slice.offset(row),
          slice.bytes,
          slice.start(row),
          slice.end(row),
        );
        left.delete(slice.partition(row), slice.offset(row));
      }
    }
  };
  settle();

  print('| stage | µs an item | bytes of garbage an item |');
  print('|---|---|---|');
  const stages: readonly (readonly [string, () => void | Promise<void>])[] = [
    ['fetch: bytes of a response → records', () => eachRecord(() => {})],
    ['… and intake: event, mapping, item', () => eachRecord((record) => void decode(record))],
    ['… and upload: row, reference, body', async () => (await upload()).release()],
    [
      'results: file → records of decisions',
      async () => {
        for await (const slice of read(piecesOf(file), {
          job: () => JOB,
          expectedRows: ROWS,
        }))
          slice.release();
      },
    ],
    ['settle: rows → chunk, remainder of the job', settle],
    [
      'produce: plan, batch, checksum',
      () => {
        for (const plan of planBatches(chunk.records, 6, 0)) {
          const batch = new OutgoingBatch(pool, chunk.records, plan, 256);
          batch.seal({ producerId: 1n, producerEpoch: 0, sequence: 0, transactional: true });
          batch.release(false);
        }
      },
    ],
  ];
  for (const [name, run] of stages) {
    for (let round = 0; round < WARM; round++) await run();
    const [cpu, allocated] = [process.cpuUsage(), getHeapStatistics().total_allocated_bytes];
    for (let round = 0; round < ROUNDS; round++) await run();
    const { user, system } = process.cpuUsage(cpu);
    const garbage = getHeapStatistics().total_allocated_bytes - allocated;
    print(
      `| ${name} | ${((user + system) / ROUNDS / ROWS).toFixed(2)} | ${Math.round(garbage / ROUNDS / ROWS)} |`,
    );
  }
}

function responseOf(record: RecordOf): Buffer {
  const batches: Buffer[] = [];
  for (let from = 0; from < ROWS; from += RECORDS_OF_A_BATCH) {
    const batch = encode(
      Array.from({ length: RECORDS_OF_A_BATCH }, (_, n) => record(from + n)),
      'none',
    );
    batch.writeBigInt64BE(BigInt(from), 0);
    batches.push(batch);
  }
  return Buffer.concat(batches);
}

async function* piecesOf(file: Buffer): AsyncGenerator<Buffer> {
  yield file;
}

const at = (slice: ResultSlice, row: number) => ({
  partition: slice.partition(row),
  offset: slice.offset(row),
});
