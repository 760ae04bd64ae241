/**
 * The indexer as operators run it: the compiled program in a process of its own, configured by environment variables.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild, type Child } from './child.ts';
import { schema } from './postgres.ts';

/** Output of `tsc -p tsconfig.bench.json`. */
const outputs = dirname(dirname(fileURLToPath(import.meta.url)));

/** A way to run the indexer. */
export interface Variant {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  /** `main.js` of another build; default: of this one. */
  readonly program?: string;
}

export interface IndexerRun {
  readonly variant: Variant;
  readonly ledgerUrl: string;
  readonly databaseUrl: string;
  readonly start: 'seed' | 'genesis';
  /** Path for a V8 CPU profile, which is written when the process ends. */
  readonly cpuProfile?: string | undefined;
}

/** Starts the indexer, which migrates the database if necessary. */
export function startIndexerProcess(run: IndexerRun): Child {
  const { variant, cpuProfile } = run;
  linkSiblings();
  const profiling =
    cpuProfile === undefined
      ? []
      : [
          '--cpu-prof',
          `--cpu-prof-dir=${dirname(cpuProfile)}`,
          `--cpu-prof-name=${cpuProfile.slice(dirname(cpuProfile).length + 1)}`,
        ];
  return startChild({
    file: variant.program ?? join(outputs, 'src', 'main.js'),
    nodeArgs: [...startArguments(), ...profiling],
    env: {
      LEDGER_URL: run.ledgerUrl,
      DATABASE_URL: run.databaseUrl,
      POSTGRES_SCHEMA: schema,
      INDEXER_START: run.start,
      INDEXER_HTTP_PORT: '0',
      INDEXER_LOG_FORMAT: 'json',
      ...variant.env,
    },
  });
}

/** Node arguments of `npm start`. */
function startArguments(): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(outputs, '..', 'package.json'), 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  return scripts.start.match(/--[\w-]+=\S+/g) ?? [];
}

/**
 * Creates symbolic links to the files that the program expects next to its compiled files, as in the published package.
 */
function linkSiblings(): void {
  for (const name of ['package.json', 'migrations', 'packages/page/src', 'scripts/requirements.cjs']) {
    if (existsSync(join(outputs, name))) continue;
    mkdirSync(dirname(join(outputs, name)), { recursive: true });
    symlinkSync(join(outputs, '..', name), join(outputs, name));
  }
}

/** Call it before importing code of `src` that reads those files. */
export const prepareOutputs = linkSiblings;
