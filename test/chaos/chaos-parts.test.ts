/** The parts of the chaos harness that judge and that misbehave: what they see, and that they do what they say. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { after, test } from 'node:test';
import type { SourceCoordinate } from '../../src/core/record.ts';
import type { FaultInput } from '../../src/sandbox/faults/schema.ts';
import { eventually } from '../support/eventually.ts';
import { SeededRandom } from '../support/memory/clock.ts';
import { readAll } from '../support/records/read-pieces.ts';
import { CANARY, secretIn } from '../support/stack/canary.ts';
import type { ReadRecord } from '../support/stack/topic-reader.ts';
import { FaultScript } from './harness/faults/fault-script.ts';
import { HOSTILE_WRITES } from './harness/faults/hostile-writes.ts';
import { API, FrameCutter, requestHead } from './harness/faults/kafka-frames.ts';
import { type HeldRequest, isRequest, TcpProxy } from './harness/faults/proxy.ts';
import { untilSettled } from './harness/faults/settled.ts';
import { Ledger } from './harness/observe/ledger.ts';
import { lossesIn } from './harness/observe/losses.ts';
import { LIVEZ_BOUND_MS, Prober, type Subject } from './harness/observe/prober.ts';
import { traceOf } from './harness/observe/trace-of.ts';
import { outOfOrder } from './harness/observe/verdict.ts';
import { View } from './harness/view.ts';
import { Complaints } from './judge/complaints.ts';
import { judgeSilence } from './judge/judge-silence.ts';
import { eventsOf, KINDS } from './load/pipelines.ts';

function ledgerOf(count: number): Ledger {
  const ledger = new Ledger();
  for (let offset = 0; offset < count; offset++) ledger.produced(0, offset);
  return ledger;
}

const kinds = (ledger: Ledger) => ledger.violations.map(({ kind }) => kind);

test('ledger: one terminal record each, and nothing is due', () => {
  const ledger = ledgerOf(3);
  for (const offset of [2, 0, 1]) assert.ok(ledger.terminal(0, offset, 0));
  assert.deepEqual([ledger.due, ledger.missing(), kinds(ledger)], [0, [], []]);
});

test('ledger: what is missing, comes twice, or answers for nothing', () => {
  const ledger = ledgerOf(2);
  ledger.terminal(0, 0, 0);
  ledger.terminal(0, 0, 0);
  ledger.terminal(0, 7, 0);
  ledger.terminal(3, 1, 0);
  assert.deepEqual(kinds(ledger), ['twice', 'not due', 'not due']);
  assert.deepEqual(ledger.missing(), ['0:1']);
});

test('ledger: a second terminal record under another replay number is one too many, unless the group was set back', () => {
  const ledger = ledgerOf(2);
  ledger.terminal(0, 0, 0);
  ledger.terminal(0, 0, 1);
  assert.deepEqual(kinds(ledger), ['twice']);
});

test('ledger: set back, settled records are due once more under a new number; those in flight are due once in all', () => {
  const ledger = ledgerOf(4);
  for (const offset of [0, 1, 2]) ledger.terminal(0, offset, 0);
  assert.equal(ledger.reset(0, 1).again, 2);
  assert.deepEqual(ledger.missing(), ['0:1', '0:2', '0:3']);
  ledger.terminal(0, 1, 1);
  ledger.terminal(0, 2, 1);
  // A live batch of before the reset had it.
  ledger.terminal(0, 3, 0);
  assert.deepEqual([ledger.due, kinds(ledger)], [0, []]);
  ledger.terminal(0, 3, 1);
  assert.deepEqual(kinds(ledger), ['twice']);
});

test('ledger: set back, the old number again is one too many, and a number that no reset gave is wrong', () => {
  const ledger = ledgerOf(2);
  ledger.terminal(0, 0, 0);
  ledger.reset(0, 0);
  ledger.terminal(0, 0, 0);
  ledger.terminal(0, 1, 2);
  assert.deepEqual(kinds(ledger), ['twice', 'wrong replay']);
});

test('ledger: set forth, records in flight may end or be passed over, and are then due no more', () => {
  const ledger = ledgerOf(3);
  const reset = ledger.reset(0, 2);
  assert.deepEqual(reset.aside, [0, 1]);
  assert.deepEqual(ledger.missing(), ['0:2']);
  ledger.terminal(0, 0, 0);
  assert.deepEqual(
    [0, 1, 2, 3].map((offset) => [ledger.isSettled(0, offset), ledger.isDone(0, offset)]),
    [
      [true, true],
      [true, false],
      [false, false],
      [false, false],
    ],
  );
  ledger.terminal(0, 2, 1);
  assert.deepEqual([ledger.passedOver(reset), ledger.missing(), kinds(ledger)], [[1], [], []]);
  ledger.terminal(0, 0, 1);
  assert.deepEqual(kinds(ledger), ['twice']);
});

test('ledger: a record whose transaction ends after a forward reset over it may end or be passed over; after a later reset to below it is due', () => {
  const ledger = new Ledger();
  const [passed, back] = [ledger.reset(0, 4), ledger.reset(1, 4)];
  for (const partition of [0, 1]) ledger.produced(partition, 2);
  ledger.reset(1, 1);
  ledger.produced(1, 3);
  assert.deepEqual([ledger.missing(), ledger.due], [['1:2', '1:3'], 2]);
  assert.deepEqual([ledger.passedOver(passed), ledger.passedOver(back)], [[2], []]);
});

/** Waits for records with a bound of 1 ms after the last fault, which `calm` ends. */
function waiting(ledger: Ledger, places: readonly SourceCoordinate[]) {
  const over = new AbortController();
  after(() => over.abort());
  let [calmMs, looks] = [Number.NEGATIVE_INFINITY, 0];
  const wait = untilSettled(places, ledger, {
    signal: over.signal,
    calmMs: () => {
      looks++;
      return calmMs;
    },
    boundMs: 1,
  });
  const calm = () => {
    calmMs = 2;
  };
  return { wait, calm, looks: () => looks };
}

test('hostile writes: a record may need longer than the bound on stalls while faults strike, and is settled in the end', async () => {
  const ledger = ledgerOf(2);
  const startedMs = performance.now();
  const { wait, looks } = waiting(ledger, [
    { partition: 0, offset: 0 },
    { partition: 0, offset: 1 },
  ]);
  ledger.terminal(0, 1, 0);
  await eventually('the bound has passed', () => looks() > 2 && performance.now() > startedMs + 1);
  ledger.terminal(0, 0, 0);
  await wait;
});

test('hostile writes: a record that is due for longer than the bound after the last fault is named, and one that Kafka has acknowledged and that is not in the source', async () => {
  const { wait, calm, looks } = waiting(ledgerOf(1), [
    { partition: 0, offset: 0 },
    { partition: 0, offset: 1 },
  ]);
  await eventually('it waits', () => looks() > 1);
  calm();
  await assert.rejects(
    wait,
    /^Error: 1 ms after the last fault 0:0 is due, 0:1 is not in the source$/,
  );
});

test('view: records that were read before a broker failed are judged once it is back', async () => {
  const event = eventsOf('review', new SeededRandom(1)).next(0);
  const output = {
    ...event,
    value: Buffer.from('{"id":"source-0-0","source":{"partition":0,"offset":0}}'),
  };
  const unread = new Map([
    ['source', [event]],
    ['outputs', [output]],
    ['dead', []],
  ]);
  let isDown = true;
  const reader = (topic: string) => ({
    isStable: async () => true,
    async forEachToEnd(onRecord: (record: ReadRecord) => void) {
      if (topic === 'source' && isDown) throw new Error('no leader');
      for (const record of unread.get(topic)?.splice(0) ?? [])
        onRecord({ topic, ...record, offset: 0 });
    },
  });
  const ledger = new Ledger();
  const topics = { source: 'source', decisions: 'outputs', deadLetters: 'dead' };
  const journal = new Map([[traceOf(event), { event, fate: 'written' as const }]]);
  const view = new View({ reader }, topics, ledger, { journal });
  await assert.rejects(view.read(), /no leader/);
  isDown = false;
  await view.read();
  assert.deepEqual([ledger.isDone(0, 0), view.outputs.length, kinds(ledger)], [true, 1, []]);
});

test('order: decisions of a batch ascend in each source and output partition, unless its file was shuffled', () => {
  const decision = (output: number, batch: string, offset: number): ReadRecord => ({
    topic: 'decisions',
    partition: output,
    offset: 0,
    timestampMs: 0,
    key: null,
    value: Buffer.from(JSON.stringify({ batch: { id: batch }, source: { partition: 0, offset } })),
    headers: [],
  });
  const seen = [
    decision(0, 'a', 1),
    decision(1, 'a', 0),
    decision(0, 'b', 0),
    decision(0, 'a', 3),
    decision(1, 'b', 9),
  ];
  assert.deepEqual(outOfOrder(seen, new Set()), []);
  assert.deepEqual(outOfOrder([...seen, decision(0, 'a', 2)], new Set()), ['a']);
  assert.deepEqual(outOfOrder([...seen, decision(0, 'a', 2)], new Set(['a'])), []);
});

test('losses: none without a fault outside, and with one only for reasons that are not of the code', () => {
  const lost = (error: string) => (message: string) =>
    message.startsWith('lost the shard') ? [{ msg: message, pipeline: 'review', error }] : [];
  const fenced = lost('TransactionError: another owner has fenced this one');
  assert.equal(lossesIn(fenced, false).violations.length, 1);
  assert.deepEqual(lossesIn(fenced, true), { shards: 1, groups: 0, violations: [] });
  assert.match(
    lossesIn(lost('RangeError: offset set: too wide'), true).violations.join(),
    /^lost the shard.*RangeError.*review/,
  );
  const internal = (message: string) =>
    message.startsWith('internal error') ? [{ msg: message, error: 'Error at decode' }] : [];
  assert.equal(lossesIn(internal, true).violations.length, 1);
});

/** A server that answers too late for the prober, or not at all. @returns its port */
async function lateServer(): Promise<number> {
  const server = createHttpServer((request, answer) => {
    const end = () => (request.url === '/late' ? answer.end() : request.socket.destroy());
    const timer = setTimeout(end, LIVEZ_BOUND_MS + 100);
    request.socket.once('close', () => clearTimeout(timer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

test('prober: a replica that does not answer in time is named, unless it was frozen, woken or ended meanwhile, or had no processor', async () => {
  const port = await lateServer();
  const over = new AbortController();
  const prober = new Prober(over.signal);
  const subject = { mustAnswer: () => true, interruptions: () => 0, waitedMs: () => 7 };
  const watch = (name: string, path: string, unlike: Partial<Subject> = {}) => {
    const url = () => `http://127.0.0.1:${port}/${path}`;
    prober.watch({ ...subject, name, url, ...unlike }, () => false);
  };
  let interruptions = 0;
  watch('woken', 'late', { interruptions: () => interruptions++ });
  watch('starved', 'late', { waitedMs: () => performance.now() });
  const named = ['hung', 'slow', 'starved and hung'];
  watch('slow', 'late');
  watch('hung', 'never');
  watch('starved and hung', 'never', { waitedMs: () => performance.now() });
  const names = () => new Set(prober.violations.map((what) => what.replace(/ did not.*/, '')));
  await eventually(
    'each was asked, and three are named',
    () => names().size >= named.length && prober.probed.excused > 0 && interruptions > 1,
  );
  over.abort();
  await prober.close();
  assert.deepEqual([...names()].sort(), named);
  assert.match(
    prober.violations.join('\n'),
    /^slow did not answer \/livez within 2000 ms \(\d+ ms, 0 ms of it without a processor\)$/m,
  );
});

test('an answer that a stall of the prober itself has delayed is excused before the next tick as well', async (t) => {
  const prober = new Prober(new AbortController().signal);
  const stands = new Int32Array(new SharedArrayBuffer(4));
  t.mock.method(globalThis, 'fetch', async () => ({
    ok: true,
    arrayBuffer: async () => Atomics.wait(stands, 0, 0, LIVEZ_BOUND_MS + 100),
  }));
  const subject = { mustAnswer: () => true, interruptions: () => 0, waitedMs: () => 0 };
  let asked = 0;
  const isOver = () => asked++ > 0;
  prober.watch({ ...subject, name: 'prompt', url: () => 'http://127.0.0.1:1' }, isOver);
  await prober.close();
  assert.deepEqual([prober.violations, prober.probed.excused], [[], 1]);
});

test('hostile writes: each batch says what becomes of each of its records, by the trace that the record bears', async () => {
  const random = new SeededRandom(1);
  const source = eventsOf('review', random);
  for (const [name, write] of HOSTILE_WRITES) {
    const events = Array.from({ length: write.count }, () => source.next(1));
    const batches = await write.make(events, random);
    const written = batches.flatMap((batch) => [...batch.written.keys()]);
    assert.deepEqual(written, events.map(traceOf), name);
    for (const { bytes, written: some } of batches) {
      const { records, unreadable } = await readAll(bytes, {
        limits: { maxRecordBytes: 128 * 1024 * 1024 },
      });
      const places = new Map([
        ...records.map((record) => [record.offset, traceOf(record)] as const),
      ]);
      const lost = [...some].flatMap(([trace, { fate }], offset) =>
        'deadLetter' in fate && !places.has(offset) ? [trace] : [],
      );
      assert.equal(records.length + lost.length, some.size, name);
      assert.equal(unreadable.length > 0, lost.length > 0 || some.size === 0, name);
    }
  }
});

test('silence: events of each kind hold content that is looked for, poison too', () => {
  for (const kind of KINDS) {
    const source = eventsOf(kind, new SeededRandom(1));
    const events = Array.from({ length: 1_000 }, () => source.next(0));
    const made =
      'toMake' in source ? JSON.stringify((source as { toMake(): unknown }).toMake()) : '';
    const poison = events.filter(({ fate }) => 'deadLetter' in fate);
    assert.ok(
      [made, ...events.map(({ value }) => String(value))].some((text) =>
        text.includes(CANARY.content),
      ),
      kind,
    );
    if (kind !== 'lookup')
      assert.ok(
        poison.some(({ value }) => String(value).includes(CANARY.content)),
        kind,
      );
    // What comes back on the topics is not content.
    for (const { key, headers, metadata } of events) {
      assert.equal(
        secretIn(`${key} ${JSON.stringify(headers)} ${JSON.stringify(metadata)}`),
        undefined,
      );
    }
  }
});

test('silence: content, key and signatures are found in journals, outputs and headers, and a dead letter may hold its record', () => {
  const record = (value: string, headers: ReadRecord['headers'] = []): ReadRecord => ({
    topic: 't',
    partition: 1,
    offset: 7,
    timestampMs: 0,
    key: null,
    value: Buffer.from(value),
    headers,
  });
  const nothing = { journal: [], outputs: [], deadLetters: [] };
  const judged = (
    left: Partial<Omit<Parameters<typeof judgeSilence>[0], 'kind'>>,
    kind: (typeof KINDS)[number] = 'review',
  ) => {
    const verdict = new Complaints();
    judgeSilence({ kind, ...nothing, ...left }, verdict);
    return verdict.list();
  };
  const told = record('{}', [['dead-letter-message', `Unexpected token "${CANARY.content}"`]]);
  for (const [where, left] of [
    [
      /^1:7: ".+" is in the journal$/,
      { journal: [record('harmless'), record(`{"url":"https://a.example/x?X-Amz-Signature=1"}`)] },
    ],
    [/^1:7: ".+" is in the output$/, { outputs: [record(CANARY.key)] }],
    [/^1:7: ".+" is in the headers of a dead letter$/, { deadLetters: [told] }],
  ] as const) {
    const [complaint, ...more] = judged(left);
    assert.match(complaint ?? '', where);
    assert.deepEqual(more, []);
  }
  const said = record(`{"labels":["${CANARY.content}"]}`, [['event-id', 'a-1-7']]);
  assert.deepEqual(judged({ outputs: [said] }, 'lookup'), []);
  assert.deepEqual(judged({ deadLetters: [said] }), []);
});

/** A sandbox's script, which is gone when it is killed. */
function scripted() {
  let script: { readonly fault: FaultInput; fired: number }[] = [];
  const hit = (action: string) => {
    const entry = script.find(
      ({ fault, fired }) => fault.action === action && fired < Number(fault.times),
    );
    if (entry !== undefined) entry.fired++;
    return entry !== undefined;
  };
  const sandbox = {
    faults: async () => script.map(({ fired }) => ({ fired })),
    setFaults: async (faults: readonly FaultInput[]) => {
      script = faults.map((fault) => ({ fault, fired: 0 }));
    },
  };
  const kill = () => {
    script = [];
  };
  return { script: new FaultScript(sandbox), hit, kill };
}

const HANG: FaultInput = { operation: 'get_batch', action: 'hang', times: 2 };
const RESET: FaultInput = { operation: 'get_import', action: 'reset_before' };

test('fault script: each fault hits as often as it says, whatever comes and goes beside it, also over a kill', async () => {
  const { script, hit, kill } = scripted();
  script.arm('hang', HANG);
  assert.equal(await script.fired('hang'), 0);
  assert.ok(hit('hang'));
  script.arm('reset', RESET);
  assert.deepEqual([await script.fired('reset'), await script.fired('hang')], [0, 1]);
  assert.ok(hit('reset_before'));
  assert.equal(await script.fired('reset'), 1);
  script.disarm('reset');
  kill();
  assert.equal(await script.fired('hang'), 1);
  assert.deepEqual([hit('hang'), hit('hang'), hit('reset_before')], [true, false, false]);
  assert.equal(await script.fired('hang'), 2);
  script.disarm('hang');
  script.arm('hang', HANG);
  assert.equal(await script.fired('hang'), 0, 'hits of an earlier time are not its own');
  assert.deepEqual([hit('hang'), hit('hang'), hit('hang')], [true, true, false]);
});

const text = (value: string): Buffer =>
  Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)]);

function endTxn(
  correlationId: number,
  clientId: string,
  transactionalId: string,
  commits: boolean,
): Buffer {
  const head = Buffer.alloc(8);
  head.writeInt16BE(API.EndTxn, 0);
  head.writeInt16BE(1, 2);
  head.writeInt32BE(correlationId, 4);
  const body = Buffer.concat([
    head,
    text(clientId),
    text(transactionalId),
    Buffer.alloc(10),
    Buffer.from([commits ? 1 : 0]),
  ]);
  const size = Buffer.alloc(4);
  size.writeInt32BE(body.length);
  return Buffer.concat([size, body]);
}

test('frames: cut wherever the bytes end, and read', () => {
  const frames = [endTxn(7, 'me', 'journal-3', true), endTxn(8, 'me', 'journal-3', false)];
  const all = Buffer.concat(frames);
  for (let at = 0; at <= all.length; at++) {
    const cutter = new FrameCutter();
    assert.deepEqual(
      [...cutter.push(all.subarray(0, at)), ...cutter.push(all.subarray(at))],
      frames,
    );
  }
  const [commit, abort] = frames.map(requestHead);
  assert.deepEqual(commit, {
    apiKey: 26,
    apiVersion: 1,
    correlationId: 7,
    clientId: 'me',
    transactionalId: 'journal-3',
    commits: true,
  });
  assert.equal(abort?.commits, false);
});

/** A server that keeps what it hears and can answer. */
async function listener(): Promise<{ server: Server; heard: () => string; sockets: Socket[] }> {
  const chunks: Buffer[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (data: Buffer) => chunks.push(data));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, heard: () => Buffer.concat(chunks).toString('latin1'), sockets };
}

async function proxied(kind: 'kafka' | 'http') {
  const { server, heard, sockets } = await listener();
  const proxy = await TcpProxy.listen(kind);
  proxy.targetPort = (server.address() as AddressInfo).port;
  after(() => proxy.close());
  const client = connect(proxy.port, '127.0.0.1');
  client.on('error', () => undefined);
  after(() => client.destroy());
  await once(client, 'connect');
  await eventually('the proxy has connected', () => sockets.length === 1);
  return { proxy, client, heard, sockets };
}

test('proxy: passes bytes both ways, and the end of a stream', async () => {
  const { client, heard, sockets } = await proxied('http');
  client.write('question');
  await eventually('the server heard it', () => heard() === 'question');
  sockets[0]?.end('answer');
  const answer: Buffer[] = [];
  for await (const chunk of client) answer.push(chunk as Buffer);
  assert.equal(Buffer.concat(answer).toString(), 'answer');
});

test('proxy: silence loses nothing once it is healed, and a reset is a reset', async () => {
  const { proxy, client, heard } = await proxied('http');
  assert.equal(
    proxy.silence(() => true),
    1,
  );
  client.write('a');
  const other = connect(proxy.port, '127.0.0.1');
  other.on('error', () => undefined);
  await once(other, 'connect');
  other.write('b');
  await eventually('both are open', () => proxy.connections === 2);
  assert.equal(heard(), '');
  proxy.heal();
  await eventually('both arrived', () => [...heard()].sort().join('') === 'ab');
  const closed = once(client, 'error');
  assert.equal(
    proxy.reset(() => true),
    2,
  );
  const [error] = (await closed) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNRESET');
  other.destroy();
});

test('proxy: a half-open connection takes everything and says nothing', async () => {
  const { proxy, client, heard, sockets } = await proxied('http');
  const lost = new Promise((resolve) => sockets[0]?.once('close', resolve));
  assert.equal(
    proxy.orphan(() => true),
    1,
  );
  await lost;
  client.write('into the void');
  assert.equal(heard(), '');
  assert.equal(client.destroyed, false);
});

test('proxy: holds one request back, and delivers it after its sender died', async () => {
  const { proxy, client, heard } = await proxied('kafka');
  const held = Promise.withResolvers<HeldRequest>();
  proxy.holdNext({ wanted: (head) => isRequest(head, API.EndTxn), taken: held.resolve });
  const [abort, commit] = [endTxn(1, 'me', 'journal-0', false), endTxn(2, 'me', 'journal-0', true)];
  client.write(Buffer.concat([abort, commit]));
  const request = await held.promise;
  assert.equal(request.head.correlationId, 2);
  await eventually('what came before it went on', () => heard() === abort.toString('latin1'));
  const dead = new Promise((resolve) => client.once('close', resolve));
  client.resetAndDestroy();
  await dead;
  const answer = request.release();
  await eventually(
    'it arrived',
    () => heard() === Buffer.concat([abort, commit]).toString('latin1'),
  );
  await proxy.close();
  assert.equal(await answer, undefined);
});

test('proxy: tells what Kafka answered to a request that was held', async () => {
  const { proxy, client, sockets, heard } = await proxied('kafka');
  const held = Promise.withResolvers<HeldRequest>();
  proxy.holdNext({ wanted: (head) => isRequest(head, API.EndTxn), taken: held.resolve });
  client.write(endTxn(5, 'me', 'journal-0', true));
  const answer = (await held.promise).release();
  await eventually('it arrived', () => heard().length > 0);
  // Size, correlation id, throttle time, error code.
  sockets[0]?.write(Buffer.from([0, 0, 0, 10, 0, 0, 0, 5, 0, 0, 0, 0, 0, 47]));
  assert.equal(await answer, 47);
});
