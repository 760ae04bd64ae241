/** Failures of what the program brings with it: the demo, its data folder, the sandbox ledger and the testing entry. */
import { ExitCode } from './exit-code.ts';
import { kind } from './failure-kind.ts';

export const embeddedCodes = {
  EMBEDDED_POSTGRES_UNAVAILABLE: kind(
    'fatal',
    ExitCode.configuration,
    'no embedded Postgres for this machine',
    'set DATABASE_URL',
  ),
  EMBEDDED_POSTGRES_DATA: kind(
    'fatal',
    ExitCode.configuration,
    'the embedded Postgres cannot use its data: of another version, damaged, or not ours',
    'do what the message names, or set DATABASE_URL',
  ),
  EMBEDDED_POSTGRES_FAILED: kind(
    'fatal',
    ExitCode.unreachable,
    'the embedded Postgres did not start; its words are in the message',
    'read the message, or set DATABASE_URL',
  ),
  DEMO_PART_MISSING: kind(
    'fatal',
    ExitCode.configuration,
    'the sandbox ledger or the embedded Postgres is asked for and not installed',
    'name LEDGER_URL and DATABASE_URL, or install the package that the message names',
  ),
  DEMO_RUNNING: kind(
    'fatal',
    ExitCode.configuration,
    'another process runs the demo with this data folder',
    'use that one, or set INDEXER_DATA_DIR to another folder',
  ),
  DEMO_NOT_FOUND: kind(
    'fatal',
    ExitCode.unreachable,
    'demo-info: no demo runs with this data folder',
    'start it, or go to its folder',
  ),
  DEMO_NOT_READY: kind(
    'fatal',
    ExitCode.temporary,
    'demo-info: the demo is not level with its ledger yet',
    'run it again in a moment',
  ),
  LEDGER_URL_MISSING: kind(
    'fatal',
    ExitCode.configuration,
    'DATABASE_URL is set and LEDGER_URL is not: a demo writes into a database of its own only',
    'set LEDGER_URL to the JSON Ledger API of the participant, or unset DATABASE_URL for a demo',
  ),
  DATA_DIR_TAKEN: kind(
    'fatal',
    ExitCode.configuration,
    'the data folder holds the history of a demo or of a participant, and the run is of another one',
    'set DATABASE_URL, or INDEXER_DATA_DIR to another folder; or delete the folder if that history is no longer needed',
  ),
  DATA_DIR_UNUSABLE: kind(
    'fatal',
    ExitCode.configuration,
    'the data folder of the embedded parts cannot be made or written to, or other users may have changed what is in it',
    'run the command of the message, or set INDEXER_DATA_DIR to a folder of this user',
  ),
  SANDBOX_PORT_INVALID: kind(
    'fatal',
    ExitCode.configuration,
    'sandbox: the port is none',
    'name a number up to 65535, or 0 for any free port',
  ),
  SANDBOX_LISTEN: kind(
    'fatal',
    ExitCode.unexpected,
    'sandbox: the port or the address cannot be had',
    'name another port',
  ),
  SANDBOX_AUTH: kind(
    'fatal',
    ExitCode.unexpected,
    'sandbox: its settings of authorization contradict each other',
    'do what the message names',
  ),
  SANDBOX_OFFSET: kind(
    'fatal',
    ExitCode.unexpected,
    'sandbox: it was told an offset that it cannot have',
    'do what the message names',
  ),
  SANDBOX_RECORDING: kind(
    'fatal',
    ExitCode.unexpected,
    'sandbox: what it was told to replay is no recording',
    'do what the message names',
  ),
  TESTING_NOT_READY: kind(
    'fatal',
    ExitCode.temporary,
    'testing: the indexer ended or did not become ready in time',
    'correct `env`, or look at the lines that `log` receives',
  ),
  TESTING_WAIT_FAILED: kind(
    'fatal',
    ExitCode.temporary,
    'testing: the offset was not reached',
    'wait for an offset that `submit` gave, or look at the lines that `log` receives',
  ),
} as const;
