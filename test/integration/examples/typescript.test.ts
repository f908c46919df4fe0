import { METADATA, testExchange } from './exchange.ts';
import { typescript } from './toolchains.ts';

// JavaScript numbers are doubles.
const printed = JSON.stringify(JSON.parse(METADATA));
await testExchange({ language: 'typescript', find: typescript, format: 'avro', printed });
