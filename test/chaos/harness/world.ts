/** World of a run: brokers and the sandbox behind proxies, replicas, producers and the observer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type LocalKafka, startKafka } from '../../../dev/kafka/start.ts';
import {
  type TokenServer,
  tokenAnswer,
  tokenServer,
  unsignedToken,
} from '../../integration/kafka/token-server.ts';
import { eventually } from '../../support/eventually.ts';
import { TestKafka } from '../../support/kafka/kafka.ts';
import { SeededRandom } from '../../support/memory/clock.ts';
import { CANARY } from '../../support/stack/canary.ts';
import { Sandbox } from '../../support/stack/sandbox.ts';
import {
  createStack,
  type Stack,
  type StackOptions,
  type StackPipeline,
  startSandboxProcess,
} from '../../support/stack/stack.ts';
import { REVIEW_RULES } from '../load/hostile-events.ts';
import { KINDS, type Kind, setupOf } from '../load/pipelines.ts';
import { TcpProxy } from './faults/proxy.ts';
import { Fleet } from './fleet.ts';
import { Observer } from './observe/observer.ts';
import type { ChaosOptions } from './options.ts';
import { PipelineRun } from './pipeline-run.ts';

export const SESSION_MS = 2_500;
/** Timeout of the connector's requests to Kafka, ms. */
export const REQUEST_MS = 30_000;
/** Number of outstanding records over all pipelines at which the producers wait. */
const MOST_DUE = 500;
/** Number of outstanding records at which the producers wait if there is a quota, as a multiple of the quota per minute. */
const QUOTA_PARTS_DUE = 1.5;
/** Timeout of requests to the service, ms. */
const SERVICE_ANSWER_MS = 4_000;
/** Time for all open transactions to be decided, ms. */
const SETTLE_MS = 60_000;
/** Maximum wait for clients of the cluster to close, ms. Brokers may be frozen. */
const STOP_MS = 10_000;

export type WorldOptions = Omit<ChaosOptions, 'minutes' | 'faults' | 'logs'> & {
  /** Directory for the sandbox's policy and the configuration. The caller removes it. */
  readonly directory: string;
};

type Outside = 'cluster' | 'kafka' | 'brokers' | 'service' | 'logins';

export class World {
  readonly cluster: LocalKafka;
  readonly kafka: TestKafka;
  readonly brokers: readonly TcpProxy[];
  readonly service: TcpProxy;
  /** Token endpoint of the replicas, if they log in. */
  readonly logins: { readonly tokens: TokenServer; readonly sessionMs: number } | undefined;
  readonly sandbox: Sandbox;
  readonly stack: Stack;
  /** Secrets found in the logs of replicas (I6). */
  readonly leaks: readonly string[];
  readonly fleet: Fleet;
  readonly pipelines: readonly PipelineRun[];
  readonly observer: Observer;
  /** Topic for the harness only, with one partition for each broker. */
  readonly probeTopic: string;
  /** Directory for files; removed with the run. */
  readonly directory: string;
  /** Aborted when the run ends. */
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #expected: Promise<string | undefined>[] = [];

  private constructor(
    options: WorldOptions,
    parts: Pick<World, Outside | 'sandbox' | 'stack' | 'leaks' | 'probeTopic'>,
  ) {
    this.cluster = parts.cluster;
    this.kafka = parts.kafka;
    this.brokers = parts.brokers;
    this.service = parts.service;
    this.logins = parts.logins;
    this.sandbox = parts.sandbox;
    this.stack = parts.stack;
    this.leaks = parts.leaks;
    this.probeTopic = parts.probeTopic;
    this.directory = options.directory;
    this.signal = AbortSignal.any([options.signal, this.#over.signal]);
    this.fleet = new Fleet(this.stack);
    // Leaves enough work for the next minute of a quota.
    const mostDue = options.quota === undefined ? MOST_DUE : QUOTA_PARTS_DUE * options.quota;
    this.pipelines = KINDS.map(
      (kind, index) =>
        new PipelineRun({
          kind,
          pipeline: this.stack.pipelines[index] as StackPipeline,
          kafka: this.kafka,
          sandbox: this.sandbox,
          random: new SeededRandom(options.seed + 1 + index),
          rate: options.rate,
          isFull: () => this.due > mostDue,
          isLimited: kind === 'review' && options.quota !== undefined,
        }),
    );
    this.observer = new Observer(this.pipelines);
  }

  /** Starts the world. On an error, stops the parts already started. */
  static async start(options: WorldOptions): Promise<World> {
    const begun: (() => Promise<unknown>)[] = [];
    try {
      const brokers = await Promise.all(
        Array.from({ length: options.brokers }, () => TcpProxy.listen('kafka')),
      );
      begun.push(...brokers.map((proxy) => () => proxy.close()));
      const service = await TcpProxy.listen('http');
      begun.push(() => service.close());
      const sessionMs = (options.reauth ?? 0) * 1_000;
      const tokens =
        sessionMs === 0
          ? undefined
          : await tokenServer(() => tokenAnswer(unsignedToken('connector', sessionMs), sessionMs));
      if (tokens !== undefined) begun.push(() => tokens.close());
      const cluster = await startKafka({
        ...(tokens && { properties: loginProperties(sessionMs) }),
        brokers: options.brokers,
        proxyPorts: brokers.map(({ port }) => port),
        signal: options.signal,
        onProgress: options.onProgress,
      });
      begun.push(() => cluster.stop());
      for (const [index, proxy] of brokers.entries()) {
        const port = cluster.behind?.[index];
        if (port === undefined)
          throw new Error(
            'chaos starts its own brokers behind proxies: install Java 17 or later, and unset KAFKA_BROKERS',
          );
        proxy.targetPort = port;
      }
      const kafka = new TestKafka(cluster.brokers);
      begun.push(() => kafka.close());
      const { sandbox, url } = await startSandboxProcess(options.directory, POLICY);
      begun.push(() => sandbox.stop(0));
      service.targetPort = Number(new URL(url).port);
      const at = { sandbox, url: `http://127.0.0.1:${service.port}` };
      const leaks: string[] = [];
      const stack = await createStack(kafka, options.directory, at, {
        ...stackOptions(options, brokers, tokens?.url),
        onLeak: ({ message }) => leaks.push(message),
      });
      const probeTopic = await kafka.createTopic('probe', { partitions: options.brokers });
      return new World(options, {
        probeTopic,
        cluster,
        kafka,
        brokers,
        service,
        logins: tokens && { tokens, sessionMs },
        sandbox: new Sandbox(url),
        stack,
        leaks,
      });
    } catch (error) {
      for (const end of begun.reverse()) await end().catch(() => undefined);
      throw error;
    }
  }

  /** Number of records without their terminal record. */
  get due(): number {
    return this.pipelines.reduce((sum, { ledger }) => sum + ledger.due, 0);
  }

  get inFlight(): boolean {
    return this.fleet.busy().length > 0 && this.due > 0;
  }

  /** Starts replicas until `count` are running, and waits until all of them are members. */
  async atLeast(count: number): Promise<void> {
    const started = [];
    while (this.fleet.running.length < count) started.push(await this.fleet.start());
    await Promise.all(started.map((replica) => this.fleet.joined(replica)));
  }

  /**
   * Requires that `coming` settles within `ms` despite other faults. A replica that is killed during the wait is
   * excused.
   */
  expect(what: string, ms: number, coming: Promise<unknown>): void {
    const came = coming.then(
      () => undefined,
      () => undefined,
    );
    const late = this.sleep(ms).then(() => `waited in vain for ${what} (${ms} ms)`);
    late.catch(() => undefined);
    this.#expected.push(Promise.race([came, late]));
  }

  /** Waits for all expectations. @returns those that were not met in time */
  async disappointments(): Promise<string[]> {
    return (await Promise.all(this.#expected)).filter((what) => what !== undefined);
  }

  async sleep(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.signal });
  }

  /** Resolves when the ledger has everything that was committed. Must be called when no replica runs. */
  async quiet(): Promise<void> {
    await eventually('no transaction is open', () => this.observer.isStable(), {
      deadlineMs: SETTLE_MS,
      everyMs: 100,
    });
    await this.observer.refresh();
  }

  /** Returns true if each broker has every partition and is in sync. */
  async isReplicated(): Promise<boolean> {
    const { topics } = await (await this.kafka.admin()).fetchTopicMetadata();
    const { length } = this.brokers;
    return topics.every(({ partitions }) => partitions.every(({ isr }) => isr.length === length));
  }

  async stop(): Promise<void> {
    this.#over.abort(new Error('the run is over'));
    await this.fleet.close().catch(() => undefined);
    const clients = [...this.pipelines.map(({ producer }) => producer), this.observer];
    await Promise.race([
      Promise.allSettled(clients.map((client) => client.stop())),
      sleep(STOP_MS, undefined, { ref: false }),
    ]);
    await Promise.allSettled([this.cluster.stop(), this.stack.sandbox.stop(0)]);
    await this.kafka.close().catch(() => undefined);
    const servers = [...this.brokers, this.service, this.logins?.tokens];
    await Promise.all(servers.map((server) => server?.close()));
  }
}

const POLICY = {
  timing: { reviewTime: '500ms', importTime: '300ms', storageEventDelay: '150ms' },
  review: REVIEW_RULES,
};

const CHOICES = {
  resultColumn: 'Sandbox result',
  // The timeout is short, because the bounds of waits after a fault include it.
  kafka: { sessionTimeout: `${SESSION_MS}ms` },
};
/** One run out of this number shortens the waits of reviews; the other runs shorten the waits of imports. */
const HASTY_REVIEWS = 4;

export const hastyKind = (seed: number): Kind =>
  new SeededRandom(seed).below(HASTY_REVIEWS) === 0 ? 'review' : 'import';

const OAUTH = 'org.apache.kafka.common.security.oauthbearer';

/** Properties of brokers that require a login of the replicas. */
const loginProperties = (sessionMs: number) => ({
  'listener.security.protocol.map':
    'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:SASL_PLAINTEXT',
  'listener.name.proxied.sasl.enabled.mechanisms': 'OAUTHBEARER',
  'listener.name.proxied.oauthbearer.sasl.jaas.config': `${OAUTH}.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
  'listener.name.proxied.oauthbearer.sasl.server.callback.handler.class': `${OAUTH}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler`,
  'listener.name.proxied.oauthbearer.connections.max.reauth.ms': String(sessionMs),
});

const loginOf = (tokenEndpoint: string) => ({
  mechanism: 'oauthbearer',
  oauth: { tokenEndpoint, clientId: 'connector', clientSecret: CANARY.key },
});

function stackOptions(
  { quota, seed }: WorldOptions,
  brokers: readonly TcpProxy[],
  tokenEndpoint: string | undefined,
): StackOptions {
  return {
    ...setupOf({ ...CHOICES, hasty: hastyKind(seed), quota }),
    connector: [
      '--max-semi-space-size=8',
      `--import=${new URL('../../support/stack/stepped-clock.ts', import.meta.url).pathname}`,
      new URL('../../../src/cli/main.ts', import.meta.url).pathname,
    ],
    config: {
      log: { level: 'debug' },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in from the environment.
      http: { port: '${PORT:-0}' },
      kafka: {
        brokers: brokers.map(({ port }) => `127.0.0.1:${port}`),
        // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in from the environment.
        clientId: '${CHAOS_CLIENT}',
        ...(tokenEndpoint && { sasl: loginOf(tokenEndpoint) }),
      },
      service: { timeout: `${SERVICE_ANSWER_MS}ms` },
    },
  };
}
