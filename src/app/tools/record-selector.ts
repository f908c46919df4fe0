/** Comparison of records with the conditions of a search, in every format of the pipeline. */

import { abortable } from '../../base/abortable.ts';
import { jsonTextOf } from '../../base/json/json-text.ts';
import { parseKeepingDigits } from '../../base/json/parse-json.ts';
import type { PipelineConfig } from '../../config/schema.ts';
import type { SourceRecord } from '../../core/record.ts';
import { EventInput } from '../../events/expression/index.ts';
import {
  type EventFormat,
  hasValue,
  jsonFormat,
  poison,
  type ReadEvent,
  type ValuedRecord,
} from '../../events/format.ts';
import { PLAIN_FORMATS } from '../../events/formats/index.ts';
import { type DecodedTerminal, FramedReader } from '../../events/formats/output/index.ts';
import { MappingFailure } from '../../events/mapping/mapping-failure.ts';
import { compileFilter } from '../../events/record-decoder.ts';
import { type ConfluentRegistry, FRAME_BYTES } from '../../events/registry/index.ts';
import { InspectError } from '../../tools/inspect/context.ts';
import type { RecordConditions, RecordSelector } from '../../tools/inspect/explain/search.ts';
import { registryProblem } from '../clients/schema-registry.ts';

/** Longest wait for the schemas of a piece: a person waits. */
const SCHEMAS_MS = 10_000;
/** First byte of a value that begins with a schema id. */
const MAGIC_BYTE = 0;
const BRACE = 0x7b;

/** Decodes a value; may wait for its schema. */
type ReadValue = (record: ValuedRecord, signal: AbortSignal) => ReadEvent | Promise<ReadEvent>;

/** @throws InspectError `usage` for an invalid expression */
export async function recordSelector(
  pipeline: PipelineConfig,
  registry: ConfluentRegistry | undefined,
  { on, key, where }: RecordConditions,
): Promise<RecordSelector> {
  const keyBytes = key === undefined ? undefined : Buffer.from(key);
  const input = new EventInput();
  const isWanted = where === undefined ? undefined : compiled(where, input);
  const read =
    isWanted === undefined || on === 'decisions'
      ? decisionReader(registry)
      : eventReader(await sourceFormat(pipeline, registry));

  return async (records, signal) => {
    const matches: SourceRecord[] = [];
    const failures: string[] = [];
    for (const record of records) {
      if (keyBytes !== undefined && record.key?.equals(keyBytes) !== true) continue;
      if (isWanted === undefined) {
        matches.push(record);
        continue;
      }
      // A record without a value has nothing to be compared.
      if (!hasValue(record)) continue;
      try {
        const answer = read(record, signal);
        // Awaiting each would cost more than the rest: few are promises.
        const event = answer instanceof Promise ? await answer : answer;
        const problem = event.poison ?? input.begin(event, record);
        if (problem !== undefined) failures.push(problem.message);
        else if (isWanted()) matches.push(record);
      } catch (error) {
        if (!(error instanceof MappingFailure)) throw inspectError(error);
        failures.push(error.poison.message);
      }
    }
    return { matches, failures };
  };
}

/** A quoted part, or a number right after a comparison. */
const COMPARED =
  /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|([=<>]\s*)(-?\d+(?:\.\d+)?)(?![\w.])/gs;

/** Returns an expression with the backticks that JMESPath requires around a compared number: x == `42`. */
export function withQuotedNumbers(text: string): string {
  return text.replace(COMPARED, (all, before?: string, number?: string) =>
    before === undefined ? all : `${before}\`${number}\``,
  );
}

function compiled(where: string, input: EventInput): () => boolean {
  try {
    return compileFilter(withQuotedNumbers(where), input, '--where');
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new InspectError('usage', `--where: ${error.message} (docs/mapping.md)`, {
      cause: error,
    });
  }
}

async function sourceFormat(
  { source }: PipelineConfig,
  registry: ConfluentRegistry | undefined,
): Promise<EventFormat> {
  const plain = PLAIN_FORMATS[source.format];
  if (plain !== undefined) return plain;
  // Loaded late: few searches need the schema parsers.
  const { eventFormat } = await import('../formats/all-formats.ts');
  return eventFormat(source.format, registry);
}

function eventReader(format: EventFormat): ReadValue {
  return (record, signal) => {
    const loading = format.prepare?.([record], signal);
    return loading === undefined
      ? format.read(record)
      : inTime(loading, signal).then(() => format.read(record));
  };
}

/** Decisions in any format: the topic may hold several. Their metadata is an object in each. */
function decisionReader(registry: ConfluentRegistry | undefined): ReadValue {
  const framed = registry && new FramedReader(registry);
  return (record, signal) => {
    const { value } = record;
    if (value[0] !== MAGIC_BYTE || framed === undefined) return jsonFormat.read(record);
    // JSON is read as it is, with all digits; no other format has a brace here.
    return value[FRAME_BYTES] === BRACE
      ? jsonFormat.read({ ...record, value: value.subarray(FRAME_BYTES) })
      : framed.read(value, signal).then(framedDecision);
  };
}

function framedDecision(members: DecodedTerminal | undefined): ReadEvent {
  if (members === undefined)
    return poison('undecodable', 'the value is no decision of this connector');
  const metadata = members.metadata ?? members.metadata_json;
  return jsonTextOf({
    ...members,
    metadata: typeof metadata === 'string' ? parsed(metadata) : metadata,
  });
}

function parsed(json: string): unknown {
  try {
    return parseKeepingDigits(json);
  } catch {
    return null;
  }
}

/** Waits for the schema of a record, which a format loads without end. @throws InspectError `unreachable` */
async function inTime(loading: Promise<void>, signal: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(SCHEMAS_MS);
  try {
    await abortable(loading, late);
  } catch (error) {
    signal.throwIfAborted();
    if (!late.aborted) throw error;
    const message = `the schema registry gave no schema within ${SCHEMAS_MS / 1000} s: check schemaRegistry.urls`;
    throw new InspectError('unreachable', message, { cause: error });
  }
}

/** Error of the registry as that of an inspection; any other as it is. */
function inspectError(error: unknown): unknown {
  const problem = registryProblem(error, 'read');
  if (problem === undefined) return error;
  const { isRefusal, why } = problem;
  return new InspectError(isRefusal ? 'refused' : 'unreachable', why, { cause: error });
}
