import { testExchange } from './exchange.ts';
import { python } from './toolchains.ts';

await testExchange({ language: 'python', find: python, format: 'avro' });
