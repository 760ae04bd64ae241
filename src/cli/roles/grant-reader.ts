/**
 * `grant-reader ROLE`: creates a role that may read the schemas of the stream, either everything or as certain parties.
 */
import { loadConfig } from '../../config/config.ts';
import { partyId, partyIdExpected } from '../../config/party-id.ts';
import type { RoleParties } from '../../store/roles/party-policies.ts';
import { scramVerifier } from '../../store/roles/scram.ts';
import { readSmallFile, unreadableReason } from '../../config/small-file.ts';
import { dryRun, writeExitCodes, type Command, type PrintLine } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { printUnseenParties } from '../command-line/unseen-names.ts';
import { withDatabase } from '../database/with-database.ts';
import { connections, connectionsOf, sharedDatabase } from './role-flags.ts';

const openOptions = {
  command: 'grant-reader',
  feature: 'grant-reader',
  statementTimeoutMs: 60_000,
} as const;

export const grantReaderCommand: Command = {
  name: 'grant-reader',
  summary: 'create a role that can read everything, or only data of given parties',
  does: [
    'With --party, row security limits the role to contracts whose stakeholders include these parties, and to events that',
    'these parties may see. With --node-tokens, each read through the indexer has the parties of its own token, and any',
    'other session of the role sees nothing.',
    'Run by a superuser, it also revokes advisory locks and large objects from reader logins of this database.',
  ],
  operands: [{ name: 'ROLE' }],
  flags: [
    { name: 'party', value: 'PARTY', list: true, doc: 'limit the role to this party; may be repeated' },
    {
      name: 'node-tokens',
      doc: 'limit each read to the parties of a user of the participant (INDEXER_NODE_TOKENS_ROLE)',
    },
    { name: 'password-file', value: 'FILE', doc: 'file with the password of the role' },
    connections,
    sharedDatabase,
    dryRun,
  ],
  examples: [
    'grant-reader analyst',
    'grant-reader alice_reader --party alice::1220ab --dry-run',
    'grant-reader node_reader --node-tokens --password-file ./node_reader.password',
  ],
  exits: writeExitCodes,
  page: 'docs/how-to/secure/reader-roles.md',
  /**
   * Prints the grants, or the SQL with `--dry-run`.
   * @throws IndexerError GRANT_READER_REFUSED, STORE_NOT_PERMITTED, USAGE
   */
  run: async ({ args, env, print }) => {
    const { role, parties, passwordFile, dryRun, ...limits } = parseArgs(args);
    const password = passwordFile === undefined ? undefined : await passwordOf(passwordFile, dryRun);
    await withDatabase(loadConfig(env, args.options), openOptions, async (database) => {
      const { grantReader, planReader } = await import('../../store/roles/reader-role.ts');
      const reader = { role, parties, password, ...limits };
      if (dryRun) {
        printPlan(await planReader(database, reader), database.schema, parties, print);
        return printUnseenParties(database, namedParties(parties), (line) => print(`-- ${line}`));
      }
      await grantReader(database, reader);
      const { renewDerivedGrants } = await import('../../store/user-projections/grants.ts');
      await renewDerivedGrants(database);
      print(`role ${role} reads ${readableText(parties)} in schema ${database.schema} and its view schemas`);
      await printUnseenParties(database, namedParties(parties), print);
    });
  },
};

interface Arguments {
  readonly role: string;
  readonly parties: RoleParties;
  readonly passwordFile: string | undefined;
  readonly dryRun: boolean;
  readonly connections: number | undefined;
  readonly sharedDatabase: boolean;
}

const usage =
  'usage: ledger-indexer grant-reader ROLE [--party PARTY]... [--node-tokens] [--password-file FILE] [--connections N] [--shared-database] [--dry-run]';

function printPlan(plan: readonly (readonly string[])[], schema: string, parties: RoleParties, print: PrintLine): void {
  for (const statements of plan) {
    for (const line of ['begin', `set local search_path = "${schema}"`, ...statements, 'commit']) print(`${line};`);
  }
  if (parties.length === 0) return;
  if (parties === 'session') print('-- then: the role to the roles that write, and its functions to the role');
  print('-- then: security_invoker on every view, and select on the views and tables');
  print('-- and no statistics of indexed payload fields: set statistics 0; an index with statistics is rebuilt');
}

function namedParties(parties: RoleParties): readonly string[] {
  return parties === 'session' ? [] : parties;
}

function readableText(parties: RoleParties): string {
  if (parties === 'session') return 'what the participant lets the user of a token read,';
  return parties.length === 0 ? 'everything' : `what ${parties.join(', ')} may see`;
}

function parseArgs(args: Args): Arguments {
  const [role = ''] = args.operands;
  const named = args.texts('party');
  const parties = args.has('node-tokens') ? 'session' : named;
  // Logins of cloud providers may look like mail addresses.
  if (!/^[A-Za-z_][A-Za-z0-9_@.-]{0,62}$/.test(role) || role.startsWith('pg_') || role === 'public') {
    throw usageError(
      `"${role.slice(0, 80)}" is not a valid role name`,
      'use at most 63 letters, digits and _ @ . -, starting with a letter',
    );
  }
  if (named.some((party) => !partyId.test(party))) throw usageError(`--party needs ${partyIdExpected}`, usage);
  if (parties === 'session' && named.length > 0)
    throw usageError('--node-tokens and --party exclude each other', usage);
  return {
    role,
    parties,
    passwordFile: args.text('password-file'),
    dryRun: args.has('dry-run'),
    connections: connectionsOf(args),
    sharedDatabase: args.has('shared-database'),
  };
}

async function passwordOf(file: string, isHidden: boolean): Promise<string> {
  let password: string;
  try {
    password = (await readSmallFile(file)).replace(/\r?\n$/, '');
  } catch (cause) {
    throw usageError(`the password file ${file} cannot be read: ${unreadableReason(cause)}`, usage);
  }
  if (password === '') throw usageError('the password file is empty', usage);
  return isHidden ? '…' : scramVerifier(password);
}
