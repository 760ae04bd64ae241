/** Commands that run the indexer or a part of it. */
import type { CommandInfo } from './command-info.ts';

const endings = [
  [0, 'stopped as asked, or everything up to INDEXER_STOP_AT is stored'],
  [77, 'not permitted: the message names the missing right'],
] as const;

const ofTheDemo = [
  { name: 'speed', value: 'N', doc: 'the same as --demo-speed' },
  { name: 'chaos', doc: 'the same as --demo-chaos' },
  { name: 'seed', value: 'N', doc: 'the same as --demo-seed' },
] as const;

export const runCommands: readonly CommandInfo[] = [
  {
    name: 'run',
    usage: '[--option value …]',
    summary: 'index LEDGER_URL into DATABASE_URL; whichever is missing runs embedded (default)',
    does: [
      'Seeds the schema from the active contracts, then follows every update until SIGTERM or Ctrl-C.',
      'Started again it goes on at the checkpoint in the database. A second one beside it waits as standby.',
      'With --stop-at it ends by itself once everything up to that offset, and nothing above it, is stored.',
    ],
    operands: [],
    flags: [],
    examples: [
      'run',
      'run --ledger-url http://localhost:7575 --database-url postgres://me@localhost/ledger',
      'run --start oldest --stop-at end',
    ],
    exits: endings,
    alone: true,
  },
  {
    name: 'demo',
    usage: '[--speed N] [--chaos] [--seed N] [--option value …]',
    summary: 'run with everything embedded, whatever URLs the environment names',
    does: [
      'An embedded Postgres, a sandbox ledger with traffic and the indexer, in one process. Data and ports stay in',
      'INDEXER_DATA_DIR; the same INDEXER_DEMO_SEED gives the same history. What to look at is printed once it is level',
      'with the ledger, and by `connect`. A port that is taken is left for the next free one, unless INDEXER_HTTP_PORT',
      'asks for it.',
    ],
    operands: [],
    flags: ofTheDemo,
    examples: ['demo', 'demo --stop-at 1000 --seed 7'],
    exits: endings,
    alone: true,
  },
  {
    name: 'backfill',
    usage: '[--from oldest|genesis|OFFSET] [--to end|OFFSET] [--option value …]',
    summary: 'store a bounded piece of history, then exit: --from oldest --to end',
    does: [
      'Like run, with an end: follows history from --from (default oldest: where the participant was pruned to) up to',
      'and including --to (default end: the ledger end at the start), then exits 0. Updates after --from are stored,',
      'so --from 100 begins with offset 101. Killed, it goes on when it is started again with the same words.',
      'A schema holds one stretch without gaps: what would leave a gap, or put history before what is stored, is',
      'refused; give that history a POSTGRES_SCHEMA of its own.',
    ],
    operands: [],
    flags: [
      { name: 'from', value: 'oldest|genesis|OFFSET', doc: 'where an empty schema begins; default oldest' },
      { name: 'to', value: 'end|OFFSET', doc: 'last offset to store; default end' },
    ],
    examples: ['backfill', 'backfill --from 0 --to 120000', 'backfill --postgres-schema march --from 5000 --to 9000'],
    exits: [
      [0, 'everything up to --to is stored'],
      [78, 'refused, because it would leave a gap or come before what is stored'],
    ],
    alone: true,
  },
  {
    name: 'sandbox',
    usage: '[--port PORT] [--host ADDRESS] [--journal FILE] [--admin] [--option value …]',
    summary: 'only the sandbox ledger, on port 7575 or another one',
    does: [
      'A ledger to develop against: speaks the JSON Ledger API v2, keeps everything in memory, makes traffic.',
      'Each of its first four flags is a variable too: SANDBOX_PORT, SANDBOX_HOST, SANDBOX_JOURNAL, SANDBOX_ADMIN=1.',
    ],
    operands: [],
    flags: [
      { name: 'port', value: 'PORT', doc: 'default 7575; 0 for any free one' },
      { name: 'host', value: 'ADDRESS', doc: 'where it listens; default this machine only' },
      { name: 'journal', value: 'FILE', doc: 'keep the history there, and go on with it the next time' },
      { name: 'admin', doc: 'let a shell script faults' },
      ...ofTheDemo,
      { name: 'stop-at', value: 'N', doc: 'the same as --demo-stop-at' },
    ],
    examples: ['sandbox', 'sandbox --port 0 --demo-updates-per-second 0'],
    alone: true,
  },
  {
    name: 'migrate',
    usage: '[--print]',
    summary: 'bring the schema up to date; --print shows the SQL instead',
    does: ['Applies the migrations that are missing, each in a transaction. Any number may run at once.'],
    operands: [],
    flags: [{ name: 'print', doc: 'the whole schema as one SQL transaction; needs no database' }],
    examples: ['migrate', 'migrate --print > schema.sql'],
    exits: [
      [69, 'the database cannot be reached'],
      [77, 'the role may not create what is missing'],
      [78, 'a newer version migrated this schema'],
    ],
  },
];
