import { METADATA, testExchange } from './exchange.ts';
import { typescript } from './toolchains.ts';

// This consumer parses numbers as doubles, which do not keep all digits.
const printed = JSON.stringify(JSON.parse(METADATA));
await testExchange({ language: 'typescript', find: typescript, format: 'avro', printed });
