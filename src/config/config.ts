/**
 * Loads the configuration from flags, secret files and environment, in that order of precedence. All problems are
 * reported together, with the names that the operator used. Unknown variables are rejected, and secrets are never
 * printed. If the frame limit is not set, it is computed from the memory of the process.
 */
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { nodeTokenConfig, type NodeTokenConfig } from './node-token-config.ts';
import { accessConfig, type AccessConfig } from './option-access.ts';
import { readOptions, emptyFlags, type OptionFlags, type OptionSource, type Origin } from './option-sources.ts';
import { optionList, options, type Values } from './option-table.ts';
import type { Option } from './option.ts';

/** The values of the ledger options, each under the name of its entry in the option table. */
export type LedgerConfig = Omit<Values<typeof options.ledger>, 'maxFrameBytes'> &
  AccessConfig & {
    /** Computed from the memory of the process if the option is not set. */
    readonly maxFrameBytes: number;
  };

export type DatabaseConfig = Values<typeof options.database> & {
  /** The file that contains the URL; undefined if the URL does not come from a file. */
  readonly urlFile: string | undefined;
};

export type ProcessConfig = Values<typeof options.indexer> & {
  /** The file that contains the URL of the query page; undefined if that URL does not come from a file. */
  readonly queryPageUrlFile: string | undefined;
  /** Undefined if tokens of the participant are not accepted. */
  readonly nodeAccess: NodeTokenConfig | undefined;
};

export interface Config {
  readonly ledger: LedgerConfig;
  readonly database: DatabaseConfig;
  readonly indexer: ProcessConfig;
}

export interface DescribedOption {
  readonly name: string;
  readonly env: string;
  /** The value as the operator wrote it, with secrets masked. */
  readonly value: string;
  readonly origin: Origin;
}

/**
 * Loads the configuration of this run.
 * @param flags options of the command line
 * @throws IndexerError CONFIGURATION_INVALID (exit 78), whose message has one line per problem
 */
export function loadConfig(env: NodeJS.ProcessEnv, flags: OptionFlags = emptyFlags): Config {
  const source = readOptions(env, flags);
  const config = {
    ledger: ledgerConfig(source),
    database: databaseConfig(source),
    indexer: {
      ...valuesOf(options.indexer, source),
      queryPageUrlFile: source.fileOf(options.indexer.queryPageUrl),
      nodeAccess: nodeTokenConfig(source, source.read(options.ledger.insecure)),
    },
  };
  source.refuseProblems();
  return config;
}

/** The options as text, with the origin of each value. Throws like {@link loadConfig}. */
export function describeConfig(env: NodeJS.ProcessEnv, flags: OptionFlags = emptyFlags): readonly DescribedOption[] {
  const source = readOptions(env, flags);
  const describedOptions = optionList.map((option) => {
    source.read(option);
    return { name: option.name, env: option.env, ...source.describe(option) };
  });
  accessConfig(source);
  nodeTokenConfig(source, source.read(options.ledger.insecure));
  source.refuseProblems();
  return describedOptions;
}

/** The option table as markdown. */
export function configMarkdown(): string {
  const rows = optionList.map((option) => {
    const flag = option.secret === 'value' ? 'none' : `\`--${option.name}\``;
    const defaultText = (option.default ?? '') === '' ? option.unset : `\`${option.default}\``;
    const file = option.fileVariant ? ` Or \`${option.env}_FILE\`: a file that holds it.` : '';
    return `| \`${option.env}\` | ${flag} | ${defaultText} | ${option.doc}${file} |`;
  });
  return ['| Environment variable | Flag | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function ledgerConfig(source: OptionSource): LedgerConfig {
  const values = valuesOf(options.ledger, source);
  const maxFrameBytes = values.maxFrameBytes ?? frameLimitFor(memoryOfProcess());
  return { ...values, ...accessConfig(source), maxFrameBytes };
}

function databaseConfig(source: OptionSource): DatabaseConfig {
  return { ...valuesOf(options.database, source), urlFile: source.fileOf(options.database.url) };
}

function valuesOf<Section extends Readonly<Record<string, Option<unknown>>>>(
  section: Section,
  { read }: OptionSource,
): Values<Section> {
  return Object.fromEntries(Object.entries(section).map(([name, option]) => [name, read(option)])) as Values<Section>;
}

// Computes the frame limit. A frame is in memory as bytes, text, events and rows at the same time. If an update is too
// large, an error with its offset and a remedy is better than a process that the system kills.

const mebibyte = 1024 ** 2;
const largestFrame = 256 * mebibyte;
/** Memory and heap that the process uses without any frame, bytes. */
const overheadBytes = { memory: 100 * mebibyte, heap: 64 * mebibyte };
/** Measured bytes of memory and heap per byte of a frame: docs/decisions/README.md. */
const bytesPerFrameByte = { memory: 6, heap: 3 };

/** Memory limits of a process, in bytes. */
export interface Memory {
  readonly memory: number;
  readonly heap: number;
}

/** The limits of this process: the memory limit of its container or the memory of the machine, and the heap limit. */
export function memoryOfProcess(): Memory {
  const limit = process.constrainedMemory();
  return {
    memory: Math.min(totalmem(), limit > 0 ? limit : Number.POSITIVE_INFINITY),
    heap: getHeapStatistics().heap_size_limit,
  };
}

/** The frame limit in bytes, rounded down to MiB, from 1 MiB to 256 MiB. */
export function frameLimitFor({ memory, heap }: Memory): number {
  const limitBytes = Math.min(
    (memory - overheadBytes.memory) / bytesPerFrameByte.memory,
    (heap - overheadBytes.heap) / bytesPerFrameByte.heap,
    largestFrame,
  );
  return Math.max(1, Math.floor(limitBytes / mebibyte)) * mebibyte;
}
