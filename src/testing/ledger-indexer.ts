/**
 * Postgres, a ledger and the indexer for the tests of an application. They run in this process, each on a free port,
 * and are removed when the test ends. This is the only module that other programs import as `ledger-indexer/testing`.
 */
import { randomUUID } from 'node:crypto';
import type { Commands } from '../ledger/api/commands.ts';
import { createLedgerClient, type LedgerClient } from '../ledger/api/client.ts';
import { createTokenSource } from '../ledger/access/token.ts';
import { demoSandbox, sandboxFailures } from '../cli/demo/optional-parts.ts';
import { Ending } from './ending.ts';
import { startOwnDatabase } from './own-database.ts';
import { startOwnIndexer } from './own-indexer.ts';
import { sandboxTemplate } from './sandbox-template.ts';
import type { Payload, TestChoice, TestTemplate } from './test-template.ts';

export type { Payload, TestChoice, TestTemplate };

/** Options of `startLedgerIndexer`; all are optional. */
export interface LedgerIndexerOptions {
  /**
   * URL of a Postgres server whose role may create databases, e.g. `getConnectionUri()` of a PostgreSqlContainer. A
   * separate database is created there and dropped at the end. Default: an embedded server in a folder of its own.
   */
  readonly databaseUrl?: string;
  /**
   * URL of a participant to follow, which must not require access tokens. Default: a sandbox ledger in this process.
   */
  readonly ledgerUrl?: string;
  /** Templates that the sandbox ledger knows in addition to those of the demo. */
  readonly templates?: readonly TestTemplate[];
  /** Options of the indexer, by the names of their environment variables, e.g. `LEDGER_INTERFACES`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Called with each log entry of the indexer, a JSON object on one line. */
  readonly log?: (line: string) => void;
}

/** Commands of one submission, in the form of the JSON Ledger API. */
export interface Submission {
  readonly actAs: readonly string[];
  /** Commands of kind `CreateCommand`, `ExerciseCommand`, `CreateAndExerciseCommand` or `ExerciseByKeyCommand`. */
  readonly commands: readonly Payload[];
  readonly readAs?: readonly string[];
  /** Id of the command; default: a new id. */
  readonly commandId?: string;
  readonly workflowId?: string;
  /** Id of the ledger user; default `ledger-indexer-testing`. */
  readonly userId?: string;
}

/** A ledger, an indexer that follows it, and the database that the indexer writes to. */
export interface LedgerIndexer extends AsyncDisposable {
  /** Base URL of the JSON Ledger API. */
  readonly ledgerUrl: string;
  /**
   * URL of the database with the schemas `explore`, `typed`, `pqs` and `ledger`. It contains a password, so it must not
   * be logged.
   */
  readonly databaseUrl: string;
  /** Base URL of the indexer's `/status`, `/readyz`, `/wait` and `/metrics`. */
  readonly httpUrl: string;
  /** Allocates a party on the participant, and resolves to its id. */
  readonly allocateParty: (hint: string) => Promise<string>;
  /** Uploads a DAR. @param dar the bytes of the file */
  readonly upload: (dar: Uint8Array) => Promise<void>;
  /**
   * Submits commands and waits for the ledger. Resolves to the completion offset, which may not be in the database yet;
   * see `waitFor`.
   */
  readonly submit: (submission: Submission) => Promise<number>;
  /**
   * Waits until everything up to the offset can be read from the database.
   * @param timeoutMs default 10,000, at most 60,000
   * @throws Error with the state of the indexer if the offset is not stored in time
   */
  readonly waitFor: (offset: number, timeoutMs?: number) => Promise<void>;
  /** The rows of one SQL statement. int8 values are numbers, or bigints above 2^53; numeric values are texts. */
  readonly query: <Row = Record<string, unknown>>(sql: string, params?: readonly unknown[]) => Promise<Row[]>;
  /** Ends everything that was started and removes its data. Can be called again. */
  readonly stop: () => Promise<void>;
}

/**
 * Starts all parts, and waits until the indexer has caught up with the ledger.
 * @throws Error an IndexerError with `code` and `remedy` if a part cannot be started; then nothing keeps running
 */
export async function startLedgerIndexer(options: LedgerIndexerOptions = {}): Promise<LedgerIndexer> {
  const ending = new Ending();
  try {
    const [ledgerUrl, database] = await ending.together([
      options.ledgerUrl ?? startOwnSandbox(options, ending),
      startOwnDatabase(options.databaseUrl, ending),
    ]);
    const { env = {}, log = () => undefined } = options;
    const indexer = await startOwnIndexer({ ledgerUrl, databaseUrl: database.url, env, log }, ending);
    const ledger = createLedgerClient({
      url: ledgerUrl,
      tokenSource: createTokenSource({}),
      tls: {},
      insecure: false,
      requestTimeoutMs: 20_000,
    });
    return {
      ledgerUrl,
      databaseUrl: database.url,
      httpUrl: indexer.httpUrl,
      ...ledgerSide(ledger),
      waitFor: indexer.waitFor,
      query: database.query,
      stop: () => ending.end(),
      [Symbol.asyncDispose]: () => ending.end(),
    };
  } catch (thrown) {
    // The failure that is reported is the first one.
    await ending.end().catch(() => undefined);
    throw thrown;
  }
}

async function startOwnSandbox({ templates = [] }: LedgerIndexerOptions, ending: Ending): Promise<string> {
  const [{ startSandbox }, { invalidArgument }] = await Promise.all([demoSandbox(), sandboxFailures()]);
  const sandbox = await startSandbox({ limits: { checkpointIntervalMs: 1_000 } });
  ending.add(() => sandbox.close());
  for (const template of templates) sandbox.ledger.model.register(sandboxTemplate(template, invalidArgument));
  return sandbox.url;
}

function ledgerSide(ledger: LedgerClient): Pick<LedgerIndexer, 'allocateParty' | 'upload' | 'submit'> {
  return {
    allocateParty: async (partyIdHint) => (await ledger.parties.allocate({ partyIdHint })).party,
    upload: (dar) => ledger.packages.uploadDar(dar),
    submit: async (submission) => {
      const commands = { commandId: randomUUID(), userId: 'ledger-indexer-testing', ...submission };
      // The ledger validates the content of a command.
      return (await ledger.commands.submitAndWait(commands as unknown as Commands)).completionOffset;
    },
  };
}
