import { testExchange } from './exchange.ts';
import { java } from './toolchains.ts';

await testExchange({ language: 'java', find: java, format: 'avro', exitCode: 143 });
