/** The text of `--help`. */
export function help(): string {
  return `ledger-indexer: follows a ledger participant and keeps every event in Postgres, exactly once

usage: ledger-indexer [command] [--option value …]

  run       index LEDGER_URL into DATABASE_URL; whichever is missing runs embedded (default)
  demo      run with everything embedded
  sandbox   only the sandbox ledger, on port 7575
  migrate   bring the schema up to date; --print shows the SQL instead
  status    what the running indexer says of itself; --json
  views     typed views: list [--json], or rebuild to replace them all
  ledger    ask the participant by hand: contracts, updates, packages, parties …; ledger --help
  grant-reader  a role that reads everything, or with --party what these parties may see: grant-reader ROLE
  index     suggest: indexes that slow queries want; create payload.FIELD builds one while others write
  config    effective configuration with the origin of each value; --json, --markdown

Every option is an environment variable and a flag: "ledger-indexer config" lists them.

examples
  ledger-indexer
  LEDGER_URL=http://localhost:7575 DATABASE_URL=postgres://me@localhost/ledger ledger-indexer
  LEDGER_URL=http://localhost:7575 ledger-indexer ledger end
  ledger-indexer migrate --print > schema.sql`;
}
