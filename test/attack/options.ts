/** The command line of `npm run attack`. */
import { parseArgs } from 'node:util';

export interface AttackOptions {
  readonly json: string | undefined;
  /** URL of a superuser on the Postgres server to use; an embedded server is started if absent. */
  readonly database: string | undefined;
  /** Matches ids of attempts or names of groups; absent: all attempts run. */
  readonly only: RegExp | undefined;
  readonly updatesPerSecond: number;
}

const defaultRate = 10;

/** Undefined when help was requested. @throws TypeError on an unknown option */
export function readOptions(args: readonly string[], env: NodeJS.ProcessEnv): AttackOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'string' },
      database: { type: 'string' },
      only: { type: 'string' },
      rate: { type: 'string', default: String(defaultRate) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const databaseUrl = values.database ?? env['TEST_DATABASE_URL'];
  const rate = Number(values.rate);
  if (!Number.isInteger(rate) || rate < 1)
    throw new TypeError(`--rate: expected an integer of at least 1, got ${values.rate}`);
  return {
    json: values.json,
    database: databaseUrl === '' ? undefined : databaseUrl,
    only: values.only === undefined ? undefined : new RegExp(values.only),
    updatesPerSecond: rate,
  };
}

export const help = `npm run attack -- [options]

  --json FILE      write the results
  --only PATTERN   make the attempts whose id or group matches this regular expression
  --database URL   use this Postgres server, as a superuser; default TEST_DATABASE_URL, otherwise an embedded server
  --rate N         updates that the ledger adds each second (${String(defaultRate)})

Exit code 0: no finding, no crash, and ingestion never stopped for more than 2 s. 1 otherwise.
A server that others use may be disturbed: some attempts use up its connections and memory.`;
