/** A Prometheus of a test: on loopback, with its own data; it ends with the process that started it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { stringify } from 'yaml';
import { type Kept, spawnKept } from '../../../dev/process/kept.ts';
import { ensurePrometheus } from './install.ts';

export interface PrometheusOptions {
  /** Directory of its configuration and data. */
  readonly directory: string;
  /** `host:port` of what it scrapes, every second. */
  readonly target: string;
  readonly job: string;
  /** Files of rules. */
  readonly rules?: readonly string[];
}

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class PrometheusServer {
  readonly url: string;
  readonly #process: Kept;

  constructor(url: string, process: Kept) {
    this.url = url;
    this.#process = process;
  }

  /** Evaluates an expression now. @throws Error with Prometheus's message if it is invalid. */
  async query(expression: string): Promise<Sample[]> {
    const { result } = (await this.#get(`query?query=${encodeURIComponent(expression)}`)) as {
      result: { metric: Record<string, string>; value: [number, string] }[];
    };
    return result.map(({ metric, value: [, text] }) => ({
      labels: metric,
      value: Number(text.replace('Inf', 'Infinity')),
    }));
  }

  /** Returns the type and help of a metric from the last scrape. */
  async metadata(metric: string): Promise<{ readonly type: string; readonly unit: string }[]> {
    const all = (await this.#get(`metadata?metric=${metric}`)) as Record<
      string,
      { type: string; unit: string }[]
    >;
    return all[metric] ?? [];
  }

  async stop(): Promise<void> {
    await this.#process.stop();
  }

  async #get(path: string): Promise<unknown> {
    const answer = await fetch(`${this.url}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data?: unknown; error?: string };
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    return data;
  }
}

/** @throws Error with its log when it ends before it listens. */
export async function startPrometheus({
  directory,
  target,
  job,
  rules = [],
}: PrometheusOptions): Promise<PrometheusServer> {
  const { prometheus } = await ensurePrometheus();
  mkdirSync(directory, { recursive: true });
  const file = path.join(directory, 'prometheus.yaml');
  writeFileSync(
    file,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: rules,
      scrape_configs: [{ job_name: job, static_configs: [{ targets: [target] }] }],
    }),
  );
  const listening = Promise.withResolvers<string>();
  const lines: string[] = [];
  const kept = await spawnKept({
    command: prometheus,
    args: [
      `--config.file=${file}`,
      `--storage.tsdb.path=${path.join(directory, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
    ],
    cwd: directory,
    onLine: (line) => {
      lines.push(line);
      const address = /"?Listening on"? address=(\S+)/.exec(line)?.[1];
      if (address !== undefined) listening.resolve(address);
    },
  });
  void kept.exited.then(() =>
    listening.reject(new Error(`Prometheus did not start:\n${lines.join('\n')}`)),
  );
  return new PrometheusServer(`http://${await listening.promise}`, kept);
}
