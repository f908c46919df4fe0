/** Mend 16 of kafkajs-fixes.ts: refusals that say what was refused. */
import { internal, replace } from './internals.ts';

type Parse<T> = (data: T) => Promise<T>;
interface Response<T> {
  readonly decode: unknown;
  readonly parse: Parse<T>;
}

interface TopicAnswer {
  readonly topic: string;
  readonly code: number;
}

interface MetadataAnswer {
  readonly topicMetadata: readonly { readonly topic: string; readonly topicErrorCode: number }[];
}
interface FetchAnswer {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly { readonly errorCode: number }[];
  }[];
}
interface AddPartitionsAnswer {
  readonly errors: readonly {
    readonly topic: string;
    readonly partitionErrors: readonly { readonly errorCode: number }[];
  }[];
}
interface HandshakeAnswer {
  readonly errorCode: number;
  readonly enabledMechanisms: readonly string[];
}

const TOPIC_AUTHORIZATION_FAILED = 29;
const UNSUPPORTED_SASL_MECHANISM = 33;

/**
 * Mend 16: an answer with an error for one of several topics became an error without the topic's name (src/protocol/requests,
 * metadata, fetch, addPartitionsToTxn), and for partitions that were not added to a transaction the first error was taken,
 * which can be OPERATION_NOT_ATTEMPTED of a topic that is not to blame. A mechanism that a broker does not offer became an
 * error without those that it does (saslHandshake). Now a refused topic comes first and has its name in `topic`, and the
 * mechanisms are in the message.
 */
export function patchErrors(): void {
  nameRefusedTopic<MetadataAnswer>('metadata/v0', ({ topicMetadata }) =>
    topicMetadata.map(({ topic, topicErrorCode }) => ({ topic, code: topicErrorCode })),
  );
  nameRefusedTopic<FetchAnswer>('fetch/v0', ({ responses }) =>
    responses.flatMap(({ topicName, partitions }) =>
      partitions.map(({ errorCode }) => ({ topic: topicName, code: errorCode })),
    ),
  );
  nameRefusedTopic<AddPartitionsAnswer>('addPartitionsToTxn/v0', ({ errors }) =>
    errors.flatMap(({ topic, partitionErrors }) =>
      partitionErrors.map(({ errorCode }) => ({ topic, code: errorCode })),
    ),
  );
  const { createErrorFromCode } = internal<{ createErrorFromCode: (code: number) => Error }>(
    'protocol/error.js',
  );
  wrap<HandshakeAnswer>('saslHandshake/v0', (data) => {
    if (data.errorCode !== UNSUPPORTED_SASL_MECHANISM) return undefined;
    return Object.assign(createErrorFromCode(data.errorCode), { offered: data.enabledMechanisms });
  });
}

function nameRefusedTopic<T>(request: string, answers: (data: T) => readonly TopicAnswer[]): void {
  const { createErrorFromCode } = internal<{ createErrorFromCode: (code: number) => Error }>(
    'protocol/error.js',
  );
  wrap<T>(request, (data) => {
    const refused = answers(data).find(({ code }) => code === TOPIC_AUTHORIZATION_FAILED);
    return refused && Object.assign(createErrorFromCode(refused.code), { topic: refused.topic });
  });
}

/** Later versions of a request take the parser of its first. */
function wrap<T>(request: string, errorIn: (data: T) => Error | undefined): void {
  const file = `protocol/requests/${request}/response.js`;
  const response = internal<Response<T>>(file);
  const parse: Parse<T> = async (data) => {
    const error = errorIn(data);
    if (error !== undefined) throw error;
    return await response.parse(data);
  };
  replace(file, { ...response, parse });
}
