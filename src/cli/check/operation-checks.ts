/**
 * Checks of problems that block the writer now or later: blocking sessions, rights after an upgrade, transaction ids.
 */
import { hasTables } from '../../store/connection/inspection.ts';
import type { Database } from '../../store/connection/database.ts';
import { transactionIds, type TransactionIds } from '../../store/lock/transaction-ids.ts';
import { writerBlockers, type Blocker } from '../../store/lock/blockers.ts';
import { differingRoles, type DifferingRole } from '../../store/roles/differing-rights.ts';
import { pageUrl } from '../../page-url.ts';
import { fail, pass, skip, warn, type Check, type Finding } from './outcome.ts';

/** The checks in the order of the output. */
export function operationChecks(database: Database): readonly Check[] {
  const after = ['postgres'];
  return [
    { name: 'blocked writer', after, run: () => blockedWriter(database) },
    { name: 'rights of roles', after, run: () => rightsOfRoles(database) },
    { name: 'transaction ids', after, run: () => checkTransactionIds(database) },
  ];
}

async function blockedWriter(database: Database): Promise<Finding> {
  const blockers = await database.withClient((client) => writerBlockers(client, database.schema));
  const [first] = blockers;
  if (first === undefined) return pass('no writing session waits for another session');
  return warn(
    `ingestion waits for ${blockers.map(blockerText).join('; ')}`,
    `wait until it finishes, or run as a superuser or a member of role ${first.role}: \`select pg_terminate_backend(${String(first.pid)})\``,
  );
}

function blockerText({ pid, role, application, waitedSeconds, openSeconds }: Blocker): string {
  const transactionAge = openSeconds === null ? '' : `, in a transaction of ${seconds(openSeconds)}`;
  return `process ${String(pid)} (role ${role}, application ${application}${transactionAge}), for ${seconds(waitedSeconds)} so far`;
}

function seconds(count: number): string {
  return `${String(Math.floor(count))} s`;
}

async function rightsOfRoles(database: Database): Promise<Finding> {
  if (!(await hasTables(database))) return skip('nothing is stored yet');
  const roles = await database.withClient((client) => differingRoles(client, database.schema));
  const [first] = roles;
  if (first === undefined) return pass('every role of `grant-roles` has exactly the rights of this version');
  return warn(roles.map(differingText).join('; '), grantAgain(first));
}

const maxListedRights = 5;

/** Text about a role: its missing rights, and rights that this version does not grant. */
export function differingText({ role, missing, superfluous }: DifferingRole): string {
  const listRights = (rights: readonly string[]): string => {
    const hiddenCount = rights.length - maxListedRights;
    return `${rights.slice(0, maxListedRights).join(', ')}${hiddenCount > 0 ? ` and ${String(hiddenCount)} more` : ''}`;
  };
  const parts = [
    ...(missing.length > 0 ? [`lacks ${listRights(missing)}`] : []),
    ...(superfluous.length > 0 ? [`no longer needs ${listRights(superfluous)}`] : []),
  ];
  return `role "${role}" ${parts.join(', and ')}`;
}

/** The command that grants the rights of this version. */
export function grantAgain({ prefix }: DifferingRole): string {
  return `as the migrator: \`ledger-indexer grant-roles --prefix ${prefix}\``;
}

/** Half of the transaction ids that Postgres has. */
const halfOfIdSpace = 2 ** 30;

async function checkTransactionIds(database: Database): Promise<Finding> {
  return assessTransactionIds(await database.withClient((client) => transactionIds(client)));
}

/** @param ids age of the oldest database of the server */
export function assessTransactionIds({ database: oldest, age, freezeAge }: TransactionIds): Finding {
  const message = `database "${oldest}" is ${age.toLocaleString('en-US')} transactions old`;
  const fix = `end old transactions, prepared transactions and replication slots, then \`vacuumdb --all --freeze\`: ${pageUrl('docs/runbook/database.md#transaction-ids')}`;
  if (age >= writeStopAge) return fail(`${message}: Postgres rejects all writes`, fix);
  if (age <= Math.min(2 * freezeAge, halfOfIdSpace)) return pass(`${message}, limit two billion`);
  return warn(`${message}: at two billion Postgres stops all writes, and autovacuum does not keep up`, fix);
}

/**
 * Postgres stops writes three million ids before 2^31, which is the largest distance that 32-bit ids can distinguish.
 * Source: SetTransactionIdLimit in varsup.c of Postgres.
 */
const writeStopAge = 2 ** 31 - 1 - 3_000_000;
