/** The commands that the administrator of a managed service runs, in an order in which each of them can succeed. */
import type { ManagedWorld } from './world.ts';

/** A command line, and the options that only this command has. */
export interface CommandLine {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Facts about the indexed history that command lines contain. */
export interface HistoryFacts {
  readonly archived: string;
  readonly party: string;
  readonly middle: string;
  readonly end: string;
}

/** Commands that connect to no database of a user. */
export const withoutDatabase: ReadonlySet<string> = new Set([
  'demo',
  'demo-info',
  'sandbox',
  'ledger',
  'config',
  'completion',
  'help',
]);

const line = (...argv: readonly string[]): CommandLine => ({ argv });

/** Commands that only read, or that change little, after the first index and before the roles exist. */
export function readingCommands(world: ManagedWorld, { party, middle, end }: HistoryFacts): readonly CommandLine[] {
  const labels = world.file('customers.csv', `party,label\n${party},Alice\n`);
  const pqs = world.file('pqs-url', world.url());
  return [
    line('check', '--timeout', '60'),
    line('status'),
    line('status', '--sizes'),
    line('query', 'select count(*) from explore.contracts'),
    line('explain', end),
    line('diff', middle, end),
    line('account-statement', '--party', party, '--json'),
    line('codegen', '--lang', 'ts'),
    line('graphql', '--hasura'),
    line('views', 'rebuild'),
    line('views', 'list'),
    line('labels', 'load', labels),
    line('labels', 'list'),
    line('labels', 'remove', 'customers'),
    line('export', '--to', 'lake'),
    line('export', '--to', 'held', '--hold', 'lake'),
    line('compare-pqs', '--pqs-file', pqs, '--pqs-schema', 'pqs'),
    line('verify'),
    line('verify', '--tokens'),
    line('verify', '--projections'),
    line('hold', 'place', 'replica'),
    line('hold', 'list'),
    line('hold', 'release', 'replica'),
    line('index', 'suggest'),
    line('index', 'create', 'payload.owner'),
    line('filter'),
    line('quarantine', 'list'),
    { argv: ['quarantine', 'retry'], env: { INDEXER_UNKNOWN_UPDATES: 'store' } },
    line('migrate'),
    line('backfill', '--from', 'genesis'),
  ];
}

/** Commands about roles, readers, tokens, webhooks and projections. `served` is a reader without a login. */
export function roleCommands(world: ManagedWorld): readonly CommandLine[] {
  const select = 'select e."offset", e.node_id from explore.events e where e."offset" > :from and e."offset" <= :to';
  const sql = world.file('events.sql', select);
  const served = `${world.prefix}_served`;
  const readAs = ['--role', `${world.prefix}_reader`];
  return [
    line('grant-roles', '--prefix', world.prefix, '--password-dir', world.folder),
    line('grant-roles', '--prefix', world.prefix, '--dry-run'),
    line('grant-reader', `${world.prefix}_analyst`, '--password-file', `${world.folder}/reader`),
    line('grant-reader', served),
    line('reader-token', 'create', '--role', served),
    line('reader-token', 'list'),
    line('webhook', 'add', 'orders', '--url', 'https://hooks.example.com/orders', '--role', served),
    line('webhook', 'list'),
    line('webhook', 'rotate', 'orders'),
    line('webhook', 'rotate', 'orders', '--finish'),
    line('webhook', 'dead-letters', 'orders'),
    line('webhook', 'replay', 'orders'),
    line('webhook', 'discard', 'orders'),
    line('webhook', 'resume', 'orders'),
    line('webhook', 'remove', 'orders'),
    line('projection', 'check', sql, ...readAs),
    line('projection', 'add', 'events', '--sql', sql, ...readAs),
    line('projection', 'list'),
    line('projection', 'refill', 'events'),
    line('projection', 'drop', 'events'),
    line('check', '--timeout', '60'),
  ];
}

/** Commands that change or delete stored history, after the roles exist. */
export function changingCommands(facts: HistoryFacts): readonly CommandLine[] {
  const blobs = { LEDGER_CREATED_EVENT_BLOBS: 'true' };
  return [
    { argv: ['filter', 'extend', '--yes'], env: blobs },
    line('jobs', 'list'),
    line('jobs', 'pause', 'filter-extend'),
    line('jobs', 'resume', 'filter-extend'),
    line('jobs', 'cancel', 'filter-extend'),
    line('rebuild'),
    line('rebuild', '--yes'),
    line('rebuild', '--rollback', '--yes'),
    line('rebuild', '--drop-previous', '--yes'),
    { argv: ['filter', 'accept', '--yes'], env: { LEDGER_TOPOLOGY: 'false' } },
    { argv: ['reset', '--to', facts.end, '--yes'], env: { LEDGER_TOPOLOGY: 'false' } },
  ];
}

/** Commands that delete history, which a switch to another participant compares before. */
export function deletingCommands({ archived }: HistoryFacts, before: string): readonly CommandLine[] {
  return [
    line('redact', 'contract', archived, '--reason', 'requested', '--yes'),
    line('prune', '--before', before, '--yes'),
    line('reseed', '--yes'),
  ];
}
