import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { CertificateOwner, TlsOptions } from '../../../../src/kafka/security/options.ts';
import { expiryWatch } from '../../../../src/kafka/security/security.ts';
import { TlsMaterial } from '../../../../src/kafka/security/tls-material.ts';
import { certificateAuthority } from '../../../support/certificates.ts';
import { RecordingLogger } from '../../../support/memory/telemetry/recording-telemetry.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const ca = certificateAuthority('CA');
const first = ca.issue({ name: 'first' });
const second = ca.issue({ name: 'second' });
const DAY_MS = 86_400_000;

function newMaterial() {
  const directory = temporaryDirectory();
  const place = (name: string) => `${directory}${path.sep}${name}`;
  const write = (name: string, text: string) => writeFileSync(place(name), text);
  write('ca', ca.certificate);
  write('certificate', first.certificate);
  write('key', first.key);
  const seen: CertificateOwner[] = [];
  const logger = new RecordingLogger();
  const options: TlsOptions = {
    ca: [place('ca')],
    certificate: place('certificate'),
    key: place('key'),
  };
  const material = new TlsMaterial(options, logger, (owner) => seen.push(owner));
  return { material, write, place, seen, logger };
}

/** One line for each problem, and one for the recovery. */
const TOLD = [
  'warn kafka.tls.key key does not belong to kafka.tls.certificate certificate',
  'warn kafka.tls.certificate certificate: it contains no PEM certificate',
  'info ',
];

describe('TLS files for Kafka', () => {
  it('are read once, and reread when one changes', async () => {
    const { material, write, seen, logger } = newMaterial();
    await material.refresh();
    const { secureContext } = material.connection;
    await material.refresh();
    assert.equal(material.connection.secureContext, secureContext);
    assert.deepEqual(seen, ['ca', 'client']);
    write('ca', ca.certificate + certificateAuthority('CA 2').certificate);
    await material.refresh();
    assert.notEqual(material.connection.secureContext, secureContext);
    assert.deepEqual(seen.slice(2), ['ca', 'ca', 'client']);
    assert.deepEqual(logger.lines, []);
  });

  it('stay in use while the new files do not match, which is logged once', async () => {
    const { material, write, place, logger } = newMaterial();
    await material.refresh();
    const { secureContext } = material.connection;
    write('certificate', second.certificate);
    await material.refresh();
    await material.refresh();
    write('certificate', second.certificate.slice(0, 200));
    await material.refresh();
    rmSync(place('key'));
    await material.refresh();
    assert.equal(material.connection.secureContext, secureContext);
    write('certificate', second.certificate);
    write('key', second.key);
    await material.refresh();
    assert.equal(material.principal, 'CN=second');
    const told = logger.lines.map(
      ({ level, fields }) => `${level} ${String(fields.error ?? '').replaceAll(place(''), '')}`,
    );
    assert.deepEqual(told, TOLD);
  });

  const wrong: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
    [
      'a key of another certificate',
      { key: second.key },
      /^kafka\.tls\.key .* does not belong to kafka\.tls\.certificate/,
    ],
    [
      'an authority that is truncated',
      { ca: ca.certificate + ca.certificate.slice(0, 300) },
      /^kafka\.tls\.ca .*: the last certificate in it is cut off/,
    ],
    [
      'a broken certificate',
      { certificate: first.certificate.replace(/[A-Z]{2}/, '==') },
      /^kafka\.tls\.certificate .*(broken|contains no PEM certificate)/,
    ],
    [
      'a key that needs a passphrase',
      { key: first.encryptedKey('x') },
      /^kafka\.tls\.key .*: its key is encrypted: decrypt it with openssl pkey -in encrypted\.key/,
    ],
  ];
  for (const [what, files, message] of wrong)
    it(`are refused at the start for ${what}`, async () => {
      const { material, write } = newMaterial();
      for (const [name, text] of Object.entries(files)) write(name, text);
      const error = await material.refresh().catch((reason: Error) => reason);
      assert.ok(error instanceof Error);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /BEGIN/);
    });
});

describe('certificates that expire', () => {
  it('are logged once, two weeks before, and the metric has the earliest expiry', async () => {
    const { X509Certificate } = await import('node:crypto');
    const ending = (days: number, name: string) =>
      new X509Certificate(
        ca.issue({ name, until: new Date(Date.now() + days * DAY_MS) }).certificate,
      );
    const logger = new RecordingLogger();
    const observed: string[] = [];
    const watch = expiryWatch(logger, (owner, atMs) => {
      observed.push(`${owner} ${Math.round((atMs - Date.now()) / DAY_MS)}`);
    });
    const soon = ending(10, 'b1');
    watch('broker', soon, 'b1:9093');
    watch('broker', ending(100, 'b2'), 'b2:9093');
    watch('broker', soon, 'b1:9093');
    watch('client', ending(-1, 'me'));
    watch('broker', ending(200, 'b1'), 'b1:9093');
    assert.deepEqual(observed, ['broker 10', 'broker 10', 'broker 10', 'client -1', 'broker 100']);
    assert.deepEqual(
      logger.lines.map(({ message }) => message),
      [
        "a broker's certificate expires in 10 days: replace it",
        "this client's certificate (kafka.tls.certificate) has expired",
      ],
    );
  });
});
