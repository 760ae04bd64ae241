/** The text of `--help`. */
export function help(): string {
  return `ledger-indexer: follows a ledger participant and keeps every event in Postgres, exactly once

usage: ledger-indexer [command] [--option value …]

  run       index LEDGER_URL into DATABASE_URL; whichever is missing runs embedded (default)
  demo      run with everything embedded
  sandbox   only the sandbox ledger, on port 7575
  migrate   bring the schema up to date; --print shows the SQL instead
  status    what the running indexer says of itself; --json
  verify    compare the tables with themselves and with the ledger: --sql, --tail N, --acs [--at OFFSET],
            --replay FIRST LAST, --json [FILE]; ends with 0 equal, 1 different, 2 undecided
  views     typed views: list [--json], or rebuild to replace them all
  ledger    ask the participant by hand: contracts, updates, packages, parties …; ledger --help
  grant-reader  a role that reads everything, or with --party what these parties may see: grant-reader ROLE
  grant-roles   roles of its own for the stream: owner, migrator, writer, redactor, reader; --dry-run shows the SQL
  quarantine    updates set aside because they could not be stored: list [--json], or retry [OFFSET…]
  index     suggest: indexes that slow queries want; create payload.FIELD builds one while others write
  prune     remove history before an offset, a time or an age, but what is active: --before 90d; --yes to do it
  redact    remove contents for good: contract ID, exercise OFFSET:NODE or party PARTY, with --reason; --yes to do it
  reset     go back: --to OFFSET removes what is above it, --all starts over; --yes to do it
  reseed    read the active contracts again; --keep-history keeps what is stored and records the gap; --yes to do it
  accept-filter  bring the configured filter into force from the checkpoint on; --yes to do it
  config    effective configuration with the origin of each value; --json, --markdown

Every option is an environment variable and a flag: "ledger-indexer config" lists them.

examples
  ledger-indexer
  LEDGER_URL=http://localhost:7575 DATABASE_URL=postgres://me@localhost/ledger ledger-indexer
  LEDGER_URL=http://localhost:7575 ledger-indexer ledger end
  ledger-indexer migrate --print > schema.sql`;
}
