import { testExchange } from './exchange.ts';
import { go } from './toolchains.ts';

await testExchange({ language: 'go', find: go, format: 'protobuf' });
