/** Publishes one event with a configured kind and a service that decides every row. @returns the terminal record */
import assert from 'node:assert/strict';
import { kindOf } from '../../../src/app/kinds.ts';
import { bodyOf, type Sample, trySample } from '../../../src/app/tools/sample.ts';
import type { PipelineConfig } from '../../../src/config/schema.ts';
import { jsonFormat } from '../../../src/events/format.ts';
import { PLAIN_FORMATS } from '../../../src/events/formats/index.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';

export const RESULT = 'INVENTED';
const ROW_KEY = 'c2FtcGxl';

export async function publishedOf(pipeline: PipelineConfig, sample: Sample) {
  const { result } = await trySample(pipeline, sample);
  assert.ok(result.outcome === 'accepted', JSON.stringify(result));
  const none = () => assert.fail('the service must not be called');
  let file = '';
  const service = {
    ...{ createBatch: none, getBatch: none, createImport: none, getImport: none, upload: none },
    download: async function* () {
      yield Buffer.from(file);
    },
    getDecision: async () => ({
      ...{ rawStatus: 'SUCCESS', metadataJson: '{}', result: RESULT, labelsJson: '[]' },
    }),
  };
  const format = PLAIN_FORMATS[pipeline.source.format] ?? jsonFormat;
  const kind = kindOf(pipeline, service, createLogger({ level: 'silent' }), () => format);
  const { item } = result;
  const upload = (await bodyOf(kind, [item], ROW_KEY)).body.toString('utf8');
  const column = (pipeline.review.resultColumn ?? 'Service result').replaceAll('"', '""');
  file = `Status,"${column}",Labels,${upload.replace('\r\n', `\r\nSUCCESS,${RESULT},[],`)}`;
  const ids = { jobId: 'sample', remoteId: 'sample' };
  const job = { ...ids, type: item.type, attempt: 1, rowKey: ROW_KEY, decidedAtMs: 0 };
  const status = { state: 'finished', rawState: 'COMPLETE', resultUrl: 'sample' } as const;
  const { signal } = new AbortController();
  const slices =
    'results' in kind
      ? kind.results(status, () => job, signal)
      : kind.outcomes([item], status, () => job, signal, false);
  for await (const [first] of slices) {
    assert.ok(first !== undefined && 'record' in first, JSON.stringify(first));
    return { upload, record: first.record };
  }
  assert.fail('the results do not contain the event');
}
