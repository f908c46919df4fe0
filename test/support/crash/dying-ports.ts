/** The ports of an engine, wrapped so that the process kills itself at a point: no hook in the product is needed. */
import { writeSync } from 'node:fs';
import { request } from 'node:http';
import type { EngineParts } from '../../../src/app/run.ts';
import type { EncodedBody } from '../../../src/core/bytes/row-sink.ts';
import type {
  GroupListener,
  ShardGroup,
  ShardProducer,
  SourceReader,
  Transaction,
} from '../../../src/core/ports/kafka.ts';
import type { CreatedJob, PipelineKind } from '../../../src/core/ports/pipeline-kind.ts';
import { CONTENT_TYPES } from '../../../src/service/contract.ts';
import { watchRequests } from './kafka-requests.ts';
import type { CrashPoint, LastWords, TransactionName } from './points.ts';

const INIT_PRODUCER_ID = 22;
const END_TRANSACTION = 26;
const STDOUT = 1;
/** Rows of a settling transaction: a small batch has several. */
const CHUNK_ROWS = 6;

/** Kills this process at the nth time that the point is reached. */
class Fate {
  readonly #point: CrashPoint;
  readonly #nth: number;
  #times = 0;
  #fences = 0;

  constructor(point: CrashPoint, nth: number) {
    this.#point = point;
    this.#nth = nth;
  }

  fenced(): void {
    this.#fences++;
  }

  /** True if reaching the point now is the time to die. Counts. */
  isNow(point: CrashPoint): boolean {
    return point === this.#point && ++this.#times === this.#nth;
  }

  reached(point: CrashPoint): void {
    if (this.isNow(point)) this.die();
  }

  die(): void {
    const words: LastWords = { msg: 'dies here', point: this.#point, fences: this.#fences };
    writeSync(STDOUT, `${JSON.stringify(words)}\n`);
    process.kill(process.pid, 'SIGKILL');
  }
}

/** For one shard at a time: transactions of several would not be told apart. */
export function dyingAt(point: CrashPoint, nth: number): (engine: EngineParts) => EngineParts {
  const fate = new Fate(point, nth);
  return ({ ports, options }) => {
    const transactions = new Transactions(fate);
    return {
      ports: {
        ...ports,
        group: dyingGroup(ports.group, transactions, fate),
        producers: { open: (shard) => transactions.wrap(ports.producers.open(shard)) },
        reader: dyingReader(ports.reader, fate),
        kind: dyingKind(ports.kind, fate),
      },
      options: { ...options, chunk: { ...options.chunk, maxRows: CHUNK_ROWS } },
    };
  };
}

class Transactions {
  readonly #fate: Fate;
  #claimed = false;
  #current: TransactionName | undefined;

  constructor(fate: Fate) {
    this.#fate = fate;
    watchRequests(({ api, sent }) => {
      if (api === INIT_PRODUCER_ID) fate.fenced();
      if (
        api === END_TRANSACTION &&
        this.#current !== undefined &&
        fate.isNow(`${this.#current}:committing`)
      )
        void sent.then(() => fate.die());
    });
  }

  /** True if the owner record is committed. */
  get claimed(): boolean {
    return this.#claimed;
  }

  wrap(inner: ShardProducer): ShardProducer {
    let first = true;
    return {
      commit: async (transaction) => {
        const name = first ? 'claim' : nameOf(transaction);
        first = false;
        this.#fate.reached(`${name}:before`);
        this.#current = name;
        const committed = await inner.commit(watched(transaction, name, this.#fate));
        this.#fate.reached(`${name}:after`);
        this.#claimed = true;
        return committed;
      },
      close: () => inner.close(),
    };
  }
}

/** The adapter takes the journal's records when the transaction is begun, and the offsets when all records are sent. */
function watched(transaction: Transaction, name: TransactionName, fate: Fate): Transaction {
  let begun = false;
  let sent = false;
  const seen = {
    get journal() {
      if (!begun) fate.reached(`${name}:begun`);
      begun = true;
      return transaction.journal;
    },
    outputs: transaction.outputs,
    get offsets() {
      if (!sent) fate.reached(`${name}:sent`);
      sent = true;
      return transaction.offsets;
    },
  };
  return seen as Transaction;
}

function nameOf({ journal, outputs = [] }: Transaction): TransactionName {
  const has = (pattern: RegExp, ends: boolean) =>
    journal.some(({ key, value }) => pattern.test(key) && (value === null) === ends);
  const jobs = journal.filter(({ key }) => key.endsWith('/left')).length;
  const starts = has(/^job\/[^/]+$/, false);
  if (has(/^meta$/, false)) return 'start';
  if (has(/^owner$/, false)) return 'claim';
  if (outputs.length > 0)
    return jobs === 0 ? 'dead-letters' : has(/^job\//, true) ? 'end' : 'settle';
  // Marks of other uploads ride on any of them.
  if (!starts) return 'progress';
  return has(/^progress\//, false) ? 'job' : 'move';
}

function dyingGroup(inner: ShardGroup, transactions: Transactions, fate: Fate): ShardGroup {
  return {
    start: (listener: GroupListener) =>
      inner.start({
        joined: (assignment) => listener.joined(assignment),
        fetched: (batch) => {
          if (batch.stream === 'journal' && batch.nextOffset > batch.fetchOffset)
            fate.reached(transactions.claimed ? 'recovery:after-fence' : 'recovery:before-fence');
          listener.fetched(batch);
        },
        left: (reason) => listener.left(reason),
      }),
    stop: () => inner.stop(),
    seek: (...at) => inner.seek(...at),
    pause: (...at) => inner.pause(...at),
    resume: (...at) => inner.resume(...at),
    lastHeardMs: () => inner.lastHeardMs(),
    unread: () => inner.unread(),
    confirmMembership: (signal) => inner.confirmMembership(signal),
  };
}

function dyingReader(inner: SourceReader, fate: Fate): SourceReader {
  return {
    async read(range, onPiece, signal) {
      const mid: typeof onPiece = (piece) => {
        fate.reached('read:mid');
        return onPiece(piece);
      };
      await inner.read(range, mid, signal);
      fate.reached('read:after');
    },
    close: () => inner.close(),
  };
}

function dyingKind(inner: PipelineKind, fate: Fate): PipelineKind {
  const steps: Pick<PipelineKind, 'create' | 'upload'> = {
    async create(type, signal) {
      const created = await inner.create(type, signal);
      fate.reached('create:after');
      return created;
    },
    async upload(job, body, signal) {
      if (fate.isNow('upload:mid')) {
        await uploadHalf(
          job,
          body,
          inner.name === 'import' ? CONTENT_TYPES.jsonl : CONTENT_TYPES.csv,
        );
        fate.die();
      }
      await inner.upload(job, body, signal);
      fate.reached('upload:after');
    },
  };
  if (!('results' in inner)) return { ...inner, ...steps };
  return {
    ...inner,
    ...steps,
    async *results(status, job, signal) {
      let rows = 0;
      for await (const slice of inner.results(status, job, signal)) {
        const { length, others } = slice;
        yield slice;
        rows += length + others.length;
        if (rows > 0 && rows < (status.expectedRows ?? 0)) fate.reached('download:mid');
      }
    },
  };
}

/** As the client uploads, but it stops half-way: the client itself hands the whole body to the system at once. */
async function uploadHalf(
  { uploadUrl }: CreatedJob,
  { body }: EncodedBody,
  contentType: string,
): Promise<void> {
  const put = request(uploadUrl, {
    method: 'PUT',
    headers: { 'content-type': contentType, 'content-length': String(body.length) },
  });
  await new Promise<void>((resolve, reject) => {
    put.once('error', reject);
    put.write(body.subarray(0, Math.ceil(body.length / 2)), () => resolve());
  });
}
