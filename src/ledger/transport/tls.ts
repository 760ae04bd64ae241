/** Certificates for the connection to the participant. They are read once, at the start, and used for https and wss. */
import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { IndexerError } from '../../errors/indexer-error.ts';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';

/** All in PEM form. */
export interface TlsMaterial {
  /** Certificate authorities to trust instead of those of the system. */
  readonly ca?: string | undefined;
  /** The client's certificate, with its chain. */
  readonly cert?: string | undefined;
  /** The private key of `cert`. */
  readonly key?: string | undefined;
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Authorities for the token provider, which often has another issuer than the participant. */
  readonly oauthCaFile?: string | undefined;
}

export interface TlsRead {
  readonly tls: TlsMaterial;
  readonly oauthCa: string | undefined;
}

function invalidCertificatesError(problems: readonly string[]): IndexerError {
  return new IndexerError(['the certificates cannot be used:', ...problems.map((text) => `  ${text}`)].join('\n'), {
    code: 'CONFIGURATION_INVALID',
    remedy: 'set readable PEM files: certificates of the authority, and a client certificate with its own key',
    facts: { problems: problems.length },
  });
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown reason';
}

async function readPem(
  name: string,
  label: RegExp,
  file: string | undefined,
  problems: string[],
): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    const pem = await readSmallFile(file);
    // Without this check, a file of another kind would count as an empty list of authorities, and nothing would be
    // trusted.
    if (label.test(pem)) return pem;
    problems.push(`${name}: expected a PEM file, found no "${label.source}" in ${file}`);
  } catch (thrown) {
    problems.push(`${name}: cannot read ${file} (${unreadableReason(thrown)})`);
  }
  return undefined;
}

/** Checks every certificate in the text, because a secure context would silently ignore those that it cannot read. */
function checkCertificates(name: string, pem: string | undefined, problems: string[]): void {
  for (const [block] of pem?.matchAll(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/gu) ?? []) {
    try {
      // oxlint-disable-next-line no-new -- constructing it is the test
      new X509Certificate(block);
    } catch (thrown) {
      problems.push(`${name}: a certificate in it is not usable (${reasonOf(thrown)})`);
    }
  }
}

function checkKeyPair(cert: string, key: string, problems: string[]): void {
  try {
    createSecureContext({ cert, key });
  } catch (thrown) {
    // Only the code, because the text of OpenSSL may quote the content of the file.
    problems.push(`LEDGER_CERT_FILE, LEDGER_KEY_FILE: not usable together (${reasonOf(thrown)})`);
  }
}

const certificate = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----/u;
const privateKey = /-----BEGIN (?:\w+ )?PRIVATE KEY-----/u;

/**
 * Reads the files and checks that they can be used together.
 * @throws IndexerError CONFIGURATION_INVALID (exit 78) with one line for each problem, but never the content of a file
 */
export async function readTlsFiles(files: TlsFiles): Promise<TlsRead> {
  const problems: string[] = [];
  const ca = await readPem('LEDGER_CA_FILE', certificate, files.caFile, problems);
  const cert = await readPem('LEDGER_CERT_FILE', certificate, files.certFile, problems);
  const key = await readPem('LEDGER_KEY_FILE', privateKey, files.keyFile, problems);
  const oauthCa = await readPem('LEDGER_OAUTH_CA_FILE', certificate, files.oauthCaFile, problems);
  checkCertificates('LEDGER_CA_FILE', ca, problems);
  checkCertificates('LEDGER_OAUTH_CA_FILE', oauthCa, problems);
  if (cert !== undefined && key !== undefined) checkKeyPair(cert, key, problems);
  if (problems.length > 0) throw invalidCertificatesError(problems);
  return { tls: { ca, cert, key }, oauthCa };
}
