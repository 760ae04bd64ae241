/**
 * Tests the demo as new users run it. Two demos start at the same moment in two folders. Each prints its banner when
 * its first query returns rows. Other commands find the demo by its folder, and a restart uses the same ports.
 */
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { query } from '../support/database.ts';
import { terminalSkipReason, onTerminal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';
import { programInProcess } from './in-process.ts';
import { main, program, startProgram, type ProcessResult, type RunningProgram } from './program.ts';
import { needs } from '../support/skips/needs.ts';

/**
 * The history is long enough for every command in this file. There is no traffic after it, because an idle demo needs
 * little CPU.
 */
const smallDemoEnv = { INDEXER_DEMO_MAX_UPDATES: '1200' };
/** Time limit for two demos on a busy machine. */
const limitMs = 240_000;

interface BannerFacts {
  readonly page: string;
  readonly ledger: string;
  readonly database: string;
  readonly passwordFile: string;
  readonly query: string;
  readonly again: string;
}

interface Demo extends AsyncDisposable {
  readonly folder: string;
  readonly running: RunningProgram;
  /** Resolves to the log line that replaces the banner without a terminal. */
  readonly greeted: Promise<BannerFacts>;
  /** Runs another command in the same folder, without options or variables. */
  run(...argv: readonly string[]): Promise<ProcessResult>;
  /** Runs the command inside the test process. */
  runInProcess(...argv: readonly string[]): Promise<ProcessResult>;
  /** Stops the demo as Ctrl-C does. */
  stop(): Promise<ProcessResult>;
}

function startDemo(folder: string): Demo {
  const runningProgram = startProgram(['demo'], smallDemoEnv, folder);
  let processEnd: ProcessResult | undefined;
  void runningProgram.ended.then((end) => (processEnd = end));
  const whenGreeted = waitFor(
    'the demo greets',
    () => {
      if (processEnd !== undefined)
        throw new Error(`the demo ended: ${processEnd.stdout.slice(-2_000)}${processEnd.stderr}`);
      return lines(runningProgram.stdout()).find(({ msg }) => msg === 'caught up with the ledger') as
        BannerFacts | undefined;
    },
    limitMs,
  );
  // The tests await the promise. Before that, an unhandled rejection must not end the process.
  whenGreeted.catch(() => undefined);
  const stop = async (): Promise<ProcessResult> => {
    runningProgram.signal('SIGINT');
    return await runningProgram.ended;
  };
  return {
    folder,
    running: runningProgram,
    greeted: whenGreeted,
    run: (...argv) => program(argv, {}, folder),
    runInProcess: (...argv) => programInProcess(argv, {}, folder),
    stop,
    [Symbol.asyncDispose]: async () => void (await stop()),
  };
}

function lines(output: string): readonly Readonly<Record<string, unknown>>[] {
  const completeLines = output.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  return completeLines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

function portsOf({ page, ledger, database }: BannerFacts): readonly number[] {
  return [page, ledger, database].map((url) => Number(new URL(url).port));
}

async function withPassword({ database, passwordFile }: BannerFacts): Promise<string> {
  const url = new URL(database);
  url.password = (await readFile(passwordFile, 'utf8')).trim();
  return url.href;
}

let folders: readonly [string, string];
let runningDemos: readonly [Demo, Demo];
/** The facts in the banner of each demo, and the number of rows of the query in the banner at that moment. */
let banners: readonly { readonly facts: BannerFacts; readonly rows: number }[];

beforeAll(async () => {
  const folder = (): Promise<string> => mkdtemp(join(tmpdir(), 'ledger-indexer-demo-'));
  folders = [await folder(), await folder()];
  // These are ports that other demos on this machine do not try first. Both demos try the same ports, so that one of
  // them must choose other ports.
  const basePort = 20_000 + (process.pid % 10_000);
  const ports = JSON.stringify({ postgres: basePort, ledger: basePort + 10, http: basePort + 20 });
  for (const demoFolder of folders) {
    await mkdir(join(demoFolder, '.ledger-indexer'));
    await writeFile(join(demoFolder, '.ledger-indexer', 'ports.json'), ports);
  }
  runningDemos = [startDemo(folders[0]), startDemo(folders[1])];
  banners = await Promise.all(
    runningDemos.map(async ({ greeted: whenGreeted }) => {
      const facts = await whenGreeted;
      return { facts, rows: (await query(await withPassword(facts), facts.query)).length };
    }),
  );
}, limitMs + 20_000);

afterAll(async () => {
  await Promise.all(runningDemos.map((demo) => demo.stop()));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
});

const first = (): { demo: Demo; facts: BannerFacts } => ({
  demo: runningDemos[0],
  facts: banners[0]?.facts ?? ({} as BannerFacts),
});

describe('demo', () => {
  it('prints its banner only after the banner query returns rows', () => {
    for (const { rows } of banners) expect(rows).toBeGreaterThan(1);
  });

  it('returns rows when the query command runs the banner query', async () => {
    const { demo, facts } = first();
    const { code, stdout } = await demo.run('query', facts.query);
    expect(code).toBe(0);
    expect(lines(stdout).length).toBeGreaterThan(1);
  });

  it('logs "caught up with the ledger" after "live"', async () => {
    const log = lines(first().demo.running.stdout()).map(({ msg }) => msg);
    expect(log.indexOf('live')).toBeGreaterThan(0);
    expect(log.indexOf('caught up with the ledger')).toBeGreaterThan(log.indexOf('live'));
  });

  it('does not log the database password', async () => {
    const { demo, facts } = first();
    const password = (await readFile(facts.passwordFile, 'utf8')).trim();
    expect(demo.running.stdout()).not.toContain(password);
  });

  it('rejects a second demo in its folder and prints the address of the first demo', async () => {
    const { demo, facts } = first();
    const { code, stderr } = await demo.run('demo');
    expect(stderr).toContain('DEMO_RUNNING');
    expect(stderr).toContain(facts.page);
    expect(code).toBe(78);
    expect((await demo.runInProcess('demo-info')).code).toBe(0);
  });
});

describe('demo on a terminal', { timeout: limitMs }, () => {
  it('prints a connection string and a query that returns rows', needs(terminalSkipReason), async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-terminal-'));
    const demo = onTerminal(`exec '${process.execPath}' '${main}' demo`, smallDemoEnv, folder);
    try {
      const [url, sql] = await waitFor(
        'the greeting',
        () => {
          const [, connection = ''] = /psql '(postgres:[^']+)'/.exec(demo.output()) ?? [];
          const [, statement = ''] = /^ {4}(select [^;]+;)\r$/m.exec(demo.output()) ?? [];
          return statement === '' ? undefined : [connection, statement];
        },
        limitMs,
      );
      expect((await query(url ?? '', sql ?? '')).length).toBeGreaterThan(1);
    } finally {
      demo.interrupt();
      expect(await demo.ended).toBe(0);
      await rm(folder, { recursive: true });
    }
  });
});

describe('demo-info', () => {
  it('prints the URLs, the password and the query of the banner as text or JSON', async () => {
    const { demo, facts } = first();
    const { code, stdout } = await demo.run('demo-info');
    expect(code).toBe(0);
    for (const expectedText of [facts.page, facts.ledger, await withPassword(facts)])
      expect(stdout).toContain(expectedText);
    // In the log, the query is on one line.
    const singleLine = (text: string): string => text.replaceAll(/\s+/g, ' ');
    expect(singleLine(stdout)).toContain(facts.query);
    const json = JSON.parse((await demo.runInProcess('demo-info', '--json')).stdout) as BannerFacts & {
      queries: readonly string[];
    };
    expect(json).toMatchObject({ page: facts.page, ledger: facts.ledger, database: await withPassword(facts) });
    expect(singleLine(json.queries[0] ?? '')).toBe(facts.query);
  });

  it('exits with 69 and prints the searched folder if no demo runs', async () => {
    const otherFolder = await mkdtemp(join(tmpdir(), 'ledger-indexer-nothing-'));
    try {
      const { code, stderr } = await programInProcess(['demo-info'], {}, otherFolder);
      expect(stderr).toMatch(/DEMO_NOT_FOUND: no demo runs with the data in .+\.ledger-indexer/);
      expect(code).toBe(69);
    } finally {
      await rm(otherFolder, { recursive: true });
    }
  });
});

/**
 * Calls that change nothing, one for each command that needs a database or a ledger. Each output confirms the
 * connection.
 */
const calls: Readonly<Record<string, readonly [shows: RegExp, ...argv: string[]]>> = {
  check: [/✓ ledger +http.*✓ stored stream .*participant/s, '--timeout', '30'],
  status: [/^source +http:/m],
  'account-statement': [
    /Unknown party: no event, topology change or command names nobody::1220.*Nearest parties: \S+::1220/s,
    '--party',
    'nobody::1220',
  ],
  explain: [/^update +1220|^transaction /m, '10'],
  diff: [/created/, '10', '20'],
  query: [/"count":\d{4}/, 'select count(*) from explore.updates'],
  'compare-pqs': [/127\.0\.0\.1:9\b/, '--pqs', 'postgres://nobody@127.0.0.1:9/pqs'],
  verify: [/"outcome": "equal"/, '--invariants', '--acs'],
  views: [/token_holding_v1__holding/, 'list'],
  codegen: [/'typed\.token_holding_v1__holding'/, '--lang', 'ts'],
  graphql: [/explore\.updates/, '--postgraphile'],
  ledger: [/participant1::/, 'end', '--json'],
  quarantine: [/the quarantine is empty/, 'list'],
  migrate: [/is up to date/],
  prune: [/updates up to and including offset 10 would be deleted/, '--before', '10'],
  hold: [/there are no holds/, 'list'],
  'reader-token': [/there are no tokens/, 'list'],
  webhook: [/there is no webhook/, 'list'],
  jobs: [/there are no jobs/, 'list'],
  redact: [/no contract of this party is stored here/, 'party', 'nobody::1220', '--reason', 'none'],
  reset: [/rewinding to offset 10 would delete/, '--to', '10'],
  reseed: [/the active contracts are read at/],
  rebuild: [/is filled from the ledger until it has caught up/],
  projection: [/there is no projection of a user/, 'list'],
  filter: [/the configured filter is the one in force/],
  'switch-participant': [/the ledger is the indexed participant: nothing to do/],
  export: [/exported up to offset 10: \d+ rows in \d+ files/, '--to', 'lake', '--until', '10'],
  'grant-roles': [/^begin;$/m, '--dry-run'],
  'grant-reader': [/^begin;$/m, 'someone', '--dry-run'],
  index: [/pg_stat_statements/, 'suggest'],
};

describe('commands in the folder of a demo', () => {
  it('are all tested if they need a database or a ledger', () => {
    const dependentCommands = commands
      .filter(({ alone: singleCommand }) => singleCommand === undefined)
      .map(({ name }) => name);
    expect(Object.keys(calls).sort()).toEqual(dependentCommands.sort());
  });

  it.each(Object.entries(calls))(
    'connect to the demo without options: %s',
    { timeout: 120_000 },
    async (name, [pattern, ...argv]) => {
      const { stdout, stderr } = await first().demo.runInProcess(name, ...argv);
      expect(stdout + stderr).toMatch(pattern);
    },
  );

  it('report the address and the database of the demo: status', async () => {
    for (const [at, demo] of runningDemos.entries()) {
      const status = JSON.parse((await demo.runInProcess('status', '--json')).stdout) as {
        source: string;
        database: string;
      };
      const { page, database } = banners[at]?.facts ?? ({} as BannerFacts);
      expect(`${status.source}/`).toBe(page);
      expect(database).toContain(status.database);
    }
  });
});

describe('status', () => {
  it('ignores the indexer of another database', async () => {
    const [one, other] = banners.map(({ facts }) => facts);
    const env = {
      INDEXER_HTTP_PORT: new URL(other?.page ?? '').port,
      DATABASE_URL: await withPassword(one as BannerFacts),
    };
    const status = JSON.parse((await programInProcess(['status', '--json'], env)).stdout) as Record<string, unknown>;
    expect(status).toMatchObject({ state: 'not_running', source: expect.stringContaining('database 127.0.0.1') });
    expect(status['reason']).toContain(`the indexer at ${other?.page.slice(0, -1) ?? ''} writes to 127.0.0.1`);
  });

  it('identifies the indexer by its writer lock if DATABASE_URL has another host address', async () => {
    const { facts } = first();
    const url = (await withPassword(facts)).replace('@127.0.0.1:', '@0.0.0.0:');
    const env = { INDEXER_HTTP_PORT: new URL(facts.page).port, DATABASE_URL: url };
    const status = JSON.parse((await programInProcess(['status', '--json'], env)).stdout) as Record<string, unknown>;
    expect(status['source']).toBe(facts.page.slice(0, -1));
  });

  it('queries the indexer at --http-port, or exits with 69 if no port is set and no demo runs', async () => {
    const { facts } = first();
    const elsewhere = await mkdtemp(join(tmpdir(), 'ledger-indexer-nothing-'));
    try {
      const port = new URL(facts.page).port;
      const result = await programInProcess(['status', '--json', '--http-port', port], {}, elsewhere);
      expect(JSON.parse(result.stdout)).toMatchObject({ source: facts.page.slice(0, -1) });
      const { code, stderr } = await programInProcess(['status'], {}, elsewhere);
      expect(stderr).toContain('no demo runs with the data in .ledger-indexer');
      expect(code).toBe(69);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });
});

describe('two concurrent demos', () => {
  it('use separate ports', () => {
    const ports = banners.flatMap(({ facts }) => portsOf(facts));
    expect(new Set(ports).size).toBe(6);
  });

  it('store their ports in ports.json', async () => {
    for (const [at, { folder }] of runningDemos.entries()) {
      const kept: unknown = JSON.parse(await readFile(join(folder, '.ledger-indexer', 'ports.json'), 'utf8'));
      const [http, ledger, postgres] = portsOf(banners[at]?.facts ?? ({} as BannerFacts));
      expect(kept).toEqual({ postgres, ledger, http });
    }
  });
});

describe('demo ports', { timeout: 2 * limitMs }, () => {
  it('stay the same after a restart', async () => {
    const [demo] = runningDemos;
    const ports = portsOf(first().facts);
    expect((await demo.stop()).code).toBe(0);
    await using next = startDemo(demo.folder);
    expect(portsOf(await next.greeted)).toEqual(ports);
  });

  it('change if another process uses the old ports, and the log names that process', async () => {
    const [{ folder }] = runningDemos;
    const ports = portsOf(first().facts);
    const holders = await Promise.all(ports.map(hold));
    try {
      await using next = startDemo(folder);
      const moved = portsOf(await next.greeted);
      for (const [at, port] of moved.entries()) expect(port).not.toBe(ports[at]);
      const portLines = lines(next.running.stdout()).filter(({ requestedPort }) => requestedPort !== undefined);
      expect(new Set(portLines.map(({ requestedPort }) => requestedPort))).toEqual(new Set(ports));
      if (process.platform === 'linux') {
        for (const { usedBy } of portLines) expect(usedBy).toContain(`process ${String(process.pid)}`);
      }
    } finally {
      for (const holder of holders) holder.close();
    }
  });

  it('cause exit code 78 before anything starts if the requested port is in use', async () => {
    const holder = await hold(0);
    const folder = await mkdtemp(join(tmpdir(), 'ledger-indexer-taken-'));
    try {
      const port = String((holder.address() as AddressInfo).port);
      const { code, stderr } = await program(['demo', '--http-port', port], {}, folder);
      expect(stderr).toMatch(new RegExp(`HTTP_PORT_TAKEN: cannot listen on 127\\.0\\.0\\.1:${port}: .*process`));
      expect(stderr).toContain('what to do: set INDEXER_HTTP_PORT');
      expect(code).toBe(78);
      expect(await readdir(join(folder, '.ledger-indexer'))).toEqual([]);
    } finally {
      holder.close();
      await rm(folder, { recursive: true });
    }
  });
});

function hold(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
