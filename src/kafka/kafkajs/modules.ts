/**
 * The version of kafkajs that is mended, and the modules of it that the mends replace, patch or build on, with the SHA-256 of
 * each file. Another version, or a changed file, is refused as a whole: a mend that meets other code than it was written for
 * may do half of its work.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export const PATCHED_VERSION = '2.2.4';

const MODULES: Readonly<Record<string, string>> = {
  'broker/index.js': '9cbea8898528c439c213080f99d86974460114f81b5034c49aeb593a0337ca90',
  'broker/saslAuthenticator/scram256.js':
    'cdbc147ee965aefd0e53db01b3b175defbf08fb8a5039899fd0fb8bd1fcf8405',
  'broker/saslAuthenticator/scram512.js':
    '7a7ce87c7b68ffb872115456e24fc132d6ac1f232acadd5f7b4edfdb00c395d4',
  'cluster/brokerPool.js': '9994863e891ac2ab243f27f941ef87893889f53d64aa580353fafbb8d11614c6',
  'cluster/index.js': '3831a6845e4e9fb0de73d5ff50a3695974fb8a927acde677c524fe1c362bd57d',
  'consumer/batch.js': '04ee8657247441599f200af5871ce6b3c4463abe941b97405502f8f5f683face',
  'consumer/consumerGroup.js': 'f3e461738585a8dc6574c647123a18afc732f81cdee4f9f7bb62e4aa1dffbfbb',
  'consumer/runner.js': 'fad3247df2e3ba483b94e014e5c5916fd72d7bdfc3b3dfccc5232b60da18306d',
  'errors.js': 'bb3e50177a7b73f4cd35b3318d50a2fc50d9e631488c6ae89669b31aee25c926',
  'network/connection.js': '2a993b2e74421ca6d846efd59e4ba74b11100dbe7d40d0f52ea3218e917aafdd',
  'network/requestQueue/index.js':
    'b55986089c14f8f7bfc377922e2e65b3e4c1e7c7af2752d3b10a75dfe9e9260c',
  'producer/eosManager/index.js':
    'a74ae029d7aa786b8616b77f922d30a81bec2833878769dbfa6b4a9dab66db22',
  'producer/messageProducer.js': '529636e6ab99b29765e44e7ffbbbccf256b7241f2b9d00e6933bae4e50e841f8',
  'producer/sendMessages.js': '8a120e6993955e040a13014cccebd79b8d41e7355d6eda1065fa83fea2fbbcdb',
  'protocol/decoder.js': '83c43fac8d6b8ef2dcf0dfe8bc4494e84c2c94d2b59fbe41a670505a5fcba41b',
  'protocol/error.js': '8911e3226a8aebddc2fffe2b2504379f966b804995dd911713c8c495c3673188',
  'protocol/request.js': '2270900ca6474026c11957fe71ac586881985460ed2554db22ad8870dcaff634',
  'protocol/requests/addPartitionsToTxn/v0/response.js':
    '3603ff590179de015513b5ca99186a376b5501df4fb5e5e08edbaeb342ae2883',
  'protocol/requests/fetch/v0/response.js':
    'd2113e87d8609a79c630e617785ee9205a49d6f4cd8a5d04306ff625a457d1c6',
  'protocol/requests/fetch/v4/decodeMessages.js':
    'd9fede59bebf84ee15169d0ecc54df594a11722b6ba8d5db535ed1d8548d4fcc',
  'protocol/requests/metadata/v0/response.js':
    '9a1cbcfd0ac174b24f9b557df6f35cdc3b8f408ff10a95cddd6b5837296d2a8e',
  'protocol/requests/produce/index.js':
    '789abc7e1c33a99e956f74a34f11b8de6f70be7722580a0f0dd05f67d998f45b',
  'protocol/requests/produce/v3/request.js':
    '993a3db997827088f5acb08cacf3c67a99ec2886303ff465d244329b8a1c7f99',
  'protocol/requests/produce/v4/request.js':
    '0dc2643c0e3c51ad60ed645ab017234dde1f3e5676088fe0120f873f8e4c6eb0',
  'protocol/requests/produce/v5/request.js':
    '1d5dab00092a1dbd82c2ce90bc33026cedb0dcd7fe548153fca40d2c059ea203',
  'protocol/requests/produce/v6/request.js':
    'd19ff7d6cdad42cb666028ea5df88b74f714ffdda20126ac3ea70368701728de',
  'protocol/requests/produce/v7/request.js':
    'bc64c2f2d7feb31ae9c2f03b75a5ec5a290eb9084c703648803e5f15ec1a63eb',
  'protocol/requests/saslHandshake/v0/response.js':
    'a8d3c6d2b96e8640fd8e7205755c8c1c18de0d2f37895d5e476cf9ea676f821c',
  'retry/index.js': '6b10590bb8c285ee93ea323990052aac888edfe81deabd3dff89ec13ca8c6acf',
};

const REMEDY = 'Install the locked packages again with `npm ci`, without patches to kafkajs.';

/**
 * Checks an installed kafkajs before anything of it is loaded. @param root the folder of its package.json
 * @throws Error that names the version or the file, and the remedy.
 */
export function verifyKafkaJs(root: string): void {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version?: unknown;
  };
  if (version !== PATCHED_VERSION) {
    throw new Error(
      `kafkajs ${String(version)} is installed in ${root}, but the connector only works with ${PATCHED_VERSION}, whose faults it mends module by module. ${REMEDY}`,
    );
  }
  for (const [file, expected] of Object.entries(MODULES)) {
    const found = sha256(path.join(root, 'src', file));
    if (found === expected) continue;
    throw new Error(
      `${path.join(root, 'src', file)} is not the file of kafkajs ${PATCHED_VERSION} that the connector mends: its SHA-256 is ${found}, not ${expected}. ${REMEDY}`,
    );
  }
}

/** @throws Error for a module whose contents are not verified. */
export function assertVerified(file: string): void {
  if (!Object.hasOwn(MODULES, file))
    throw new Error(`src/${file} of kafkajs has no SHA-256 in kafkajs-modules.ts: add it there`);
}

/** Hexadecimal; `missing` when there is no such file. */
function sha256(file: string): string {
  try {
    return createHash('sha256').update(readFileSync(file)).digest('hex');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing';
    throw error;
  }
}
