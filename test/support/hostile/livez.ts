/** Probes of /livez from a separate thread, because the test's own thread is sometimes busy for seconds. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const EVERY_MS = 100;
/** Timeout of the chart's liveness probe, after which the kubelet restarts a container. */
const LIMIT_MS = 2_000;

export interface LivezReport {
  readonly probes: number;
  readonly slowestMs: number;
  /** Probes without a successful response in time. */
  readonly failures: readonly string[];
}

/** Probes a process until `stop`. */
export class Livez {
  readonly #worker: Worker;
  readonly #ended: Promise<LivezReport>;

  /** @param url base URL of the process */
  constructor(url: string) {
    this.#worker = new Worker(new URL(import.meta.url), {
      workerData: { livez: `${url}/livez` },
      // Omits the modules that the test runner preloads.
      execArgv: [],
    });
    const { promise, resolve, reject } = Promise.withResolvers<LivezReport>();
    this.#worker.once('message', resolve).once('error', reject);
    this.#ended = promise;
  }

  async stop(): Promise<LivezReport> {
    this.#worker.postMessage('stop');
    const report = await this.#ended;
    await this.#worker.terminate();
    return report;
  }
}

async function probe(url: string, stopped: AbortSignal): Promise<LivezReport> {
  const failures: string[] = [];
  let probes = 0;
  let slowestMs = 0;
  for (; !stopped.aborted; probes++) {
    const startedMs = performance.now();
    const failed = (why: string) => failures.push(`${new Date().toISOString()}: ${why}`);
    try {
      const { status } = await fetch(url, { signal: AbortSignal.timeout(LIMIT_MS) });
      if (status !== 200) failed(`it responded with status ${status}`);
    } catch (error) {
      failed(String((error as Error).cause ?? error));
    }
    slowestMs = Math.max(slowestMs, Math.round(performance.now() - startedMs));
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
  }
  return { probes, slowestMs, failures };
}

if (!isMainThread && typeof workerData?.livez === 'string') {
  const stopped = new AbortController();
  parentPort?.once('message', () => stopped.abort());
  parentPort?.postMessage(await probe(workerData.livez, stopped.signal));
}
