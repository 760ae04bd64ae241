/** Checks of tokens of the participant: the keys of their issuer, their claims, and the role of their users. */
import type { Config } from '../../config/config.ts';
import type { NodeTokenConfig } from '../../config/node-token-config.ts';
import { tokenClaims } from '../../ledger/access/token-claims.ts';
import { openDatabase, type Database } from '../../store/connection/database.ts';
import { hasTables } from '../../store/connection/inspection.ts';
import { urlWithLogin } from '../../store/console/console-reads.ts';
import { hidesStatements } from '../../store/reads/node-sessions.ts';
import { nodeReaderProblem } from '../../store/console/node-reader-check.ts';
import type { LedgerView } from './ledger-checks.ts';
import { fail, pass, skip, warn, type Check, type Finding } from './outcome.ts';

/** The checks in the order of the output; none if tokens of the participant are not accepted. */
export function nodeTokenChecks(
  config: Config,
  ledger: LedgerView | undefined,
  database: Database | undefined,
): readonly Check[] {
  const { nodeAccess } = config.indexer;
  if (nodeAccess === undefined) return [];
  return [
    ...(ledger === undefined ? [] : [{ name: 'node token keys', run: () => keys(nodeAccess, ledger) }]),
    ...(ledger === undefined ? [] : [{ name: 'node token claims', run: () => claims(nodeAccess, ledger) }]),
    ...(database === undefined
      ? []
      : [{ name: 'node token role', after: ['postgres'], run: () => role(nodeAccess, config, database) }]),
  ];
}

async function keys({ jwksUrl }: NodeTokenConfig, { access, config, signal }: LedgerView): Promise<Finding> {
  const { countPublicKeys } = await import('../../ledger/access/node-token.ts');
  const connection = { ca: access.providerCa, insecure: config.ledger.insecure, signal };
  try {
    const count = await countPublicKeys(jwksUrl, connection);
    if (count > 0) return pass(`${jwksUrl} has ${String(count)} public keys`);
    return fail(
      `${jwksUrl} has no public key that signs tokens`,
      'set INDEXER_NODE_TOKENS_JWKS_URL to the keys of the issuer',
    );
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : 'unknown reason';
    return fail(
      `${jwksUrl} cannot be read: ${reason}`,
      'correct INDEXER_NODE_TOKENS_JWKS_URL: the issuer names it as jwks_uri in /.well-known/openid-configuration',
    );
  }
}

/** Compares the claims with those of the indexer's own token, which the participant accepts. */
async function claims({ issuer, audience }: NodeTokenConfig, { access }: LedgerView): Promise<Finding> {
  const own = tokenClaims((await access.tokenSource.read()) ?? '');
  if (own === undefined) return skip('the indexer has no token of its own to compare issuer and audience with');
  const problems = [
    ...(own.issuer === issuer ? [] : [`issuer ${own.issuer ?? '(none)'}, not INDEXER_NODE_TOKENS_ISSUER`]),
    ...(own.audience.includes(audience)
      ? []
      : [`audience ${own.audience.join(', ') || '(none)'}, not INDEXER_NODE_TOKENS_AUDIENCE`]),
  ];
  if (problems.length === 0) return pass('issuer and audience are those of the indexer’s own token');
  return warn(
    `the indexer’s own token has ${problems.join(', and ')}`,
    'if users get their tokens from the same issuer, correct the options; the participant accepts the own token',
  );
}

async function role(nodeAccess: NodeTokenConfig, config: Config, database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const { role: name, password } = nodeAccess;
  const problem = await nodeReaderProblem(database, name);
  const grant = `ledger-indexer grant-reader ${name} --node-tokens --password-file FILE`;
  if (problem !== null) return fail(`role "${name}" ${problem}`, `use a role of its own, and run \`${grant}\``);
  const { url = '', schema } = config.database;
  const login = openDatabase({
    url: urlWithLogin(url, { name, password }),
    schema,
    statementTimeoutMs: 5_000,
    applicationName: 'ledger-indexer check',
    maxConnections: 1,
  });
  try {
    if (await login.withClient(hidesStatements)) return pass(`"${name}" reads only what its session may see`);
    return warn(
      `/query refuses users, because they could see statements of each other in pg_stat_activity as "${name}"`,
      `run \`${grant}\` as a superuser`,
    );
  } finally {
    await login.close(0);
  }
}
