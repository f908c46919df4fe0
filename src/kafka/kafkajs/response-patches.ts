/** Patches 2, 7, 16 and 19 of docs/internals/kafkajs.md: parsing of responses. */
import { protocolErrorOf } from '../errors.ts';
import { internal, replace } from './internals.ts';
import type { ClusterMetadata, FetchedPartition, ProtocolErrors } from './shapes.ts';

interface ErrorCode {
  readonly errorCode: number;
}
interface FetchResponse {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly (ErrorCode & Pick<FetchedPartition, 'failure'>)[];
  }[];
}
interface AddPartitionsResponse {
  readonly errors: readonly {
    readonly topic: string;
    readonly partitionErrors: readonly ErrorCode[];
  }[];
}
interface HandshakeResponse extends ErrorCode {
  readonly enabledMechanisms: readonly string[];
}
interface ResponseDecoder {
  readInt32(): number;
  readBytes(size: number): Buffer;
  canReadBytes(size: number): boolean;
}

const UNKNOWN_TOPIC = 3;
const TOPIC_AUTHORIZATION_FAILED = 29;
const UNSUPPORTED_SASL_MECHANISM = 33;
/** Error of partitions that were not added to a transaction because adding others failed. */
const NOT_ATTEMPTED = 55;
const NO_LEADER = -1;
/** Fetch errors caused by outdated metadata. On these, kafkajs refreshes the metadata and joins the group again. */
const STALE_METADATA =
  /^(UNKNOWN_TOPIC_OR_PARTITION|LEADER_NOT_AVAILABLE|NOT_LEADER_FOR_PARTITION|(FENCED|UNKNOWN)_LEADER_EPOCH)$/;
const NOTHING = Buffer.alloc(0);

/**
 * Adds the rejected topic and the offered SASL mechanisms to errors. Keeps partitions without a
 * leader, and partitions whose fetch failed. Leaves the record sets of a fetch as bytes, which the
 * folder records/ parses.
 */
export function patchResponses(): void {
  replace(
    'protocol/requests/fetch/v4/decodeMessages.js',
    async (decoder: ResponseDecoder): Promise<FetchedPartition['messages']> => {
      const size = decoder.readInt32();
      return size > 0 && decoder.canReadBytes(size) ? decoder.readBytes(size) : NOTHING;
    },
  );

  const { createErrorFromCode } = internal<ProtocolErrors>('protocol/error.js');
  const isRefused = ({ errorCode }: ErrorCode) => errorCode === TOPIC_AUTHORIZATION_FAILED;
  const isUnknown = ({ errorCode }: ErrorCode) => errorCode === UNKNOWN_TOPIC;
  const isCause = ({ errorCode }: ErrorCode) => errorCode !== 0 && errorCode !== NOT_ATTEMPTED;
  const refuse = (topic: string | undefined, code = TOPIC_AUTHORIZATION_FAILED): void => {
    if (topic !== undefined) throw Object.assign(createErrorFromCode(code), { topic });
  };
  beforeParsing<FetchResponse>('fetch', (data) => {
    refuse(data.responses.find(({ partitions }) => partitions.some(isRefused))?.topicName);
    const responses = data.responses.map((topic) => ({
      ...topic,
      partitions: topic.partitions.map((one) => {
        if (one.errorCode === 0) return one;
        const failure = createErrorFromCode(one.errorCode);
        const isStale = STALE_METADATA.test(protocolErrorOf(failure) ?? '');
        return isStale ? one : { ...one, errorCode: 0, failure };
      }),
    }));
    return { ...data, responses };
  });
  beforeParsing<AddPartitionsResponse>('addPartitionsToTxn', (data) => {
    refuse(data.errors.find(({ partitionErrors }) => partitionErrors.some(isRefused))?.topic);
    const unknown = data.errors.find(({ partitionErrors }) => partitionErrors.some(isUnknown));
    refuse(unknown?.topic, UNKNOWN_TOPIC);
    const errors = data.errors.map(({ topic, partitionErrors }) => ({
      topic,
      partitionErrors: partitionErrors.filter(isCause),
    }));
    return errors.some(({ partitionErrors }) => partitionErrors.length > 0)
      ? { ...data, errors }
      : data;
  });
  beforeParsing<ClusterMetadata>('metadata', (data) => {
    const isTopicRefused = (one: { readonly topicErrorCode: number }) =>
      isRefused({ errorCode: one.topicErrorCode });
    refuse(data.topicMetadata.find(isTopicRefused)?.topic);
    const topicMetadata = data.topicMetadata.map((topic) => ({
      ...topic,
      partitionMetadata: topic.partitionMetadata.map((one) =>
        one.partitionErrorCode === 0 ? one : { ...one, partitionErrorCode: 0, leader: NO_LEADER },
      ),
    }));
    return { ...data, topicMetadata };
  });
  beforeParsing<HandshakeResponse>('saslHandshake', (data) => {
    if (data.errorCode !== UNSUPPORTED_SASL_MECHANISM) return data;
    const offered = data.enabledMechanisms;
    throw Object.assign(createErrorFromCode(data.errorCode), { offered });
  });
}

/** Patches the parser of version 0, which later versions reuse. @param prepare changes the response, or throws */
function beforeParsing<T>(request: string, prepare: (data: T) => T): void {
  const file = `protocol/requests/${request}/v0/response.js`;
  const response = internal<{ parse(data: T): Promise<T> }>(file);
  replace(file, { ...response, parse: async (data: T) => await response.parse(prepare(data)) });
}
