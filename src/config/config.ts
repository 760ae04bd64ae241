/**
 * Configuration from flags, secret files and environment, in that order of precedence. Everything wrong is reported at
 * once, by the name the operator used; nothing unknown is ignored; secrets are never shown.
 */
import { frameLimitFor, memoryOfProcess } from './frame-limit.ts';
import { accessConfig, type AccessConfig } from './option-access.ts';
import { gatherOptions } from './option-sources.ts';
import type { OptionSource, Origin } from './option-sources.ts';
import { optionList, options } from './option-table.ts';

export interface LedgerConfig extends AccessConfig {
  /** Without a trailing slash; undefined runs the embedded sandbox. */
  readonly url: string | undefined;
  /** Empty: every party the token may read as. */
  readonly parties: readonly string[];
  /** `#package-name:Module:Entity`; empty: all templates. */
  readonly templates: readonly string[];
  readonly interfaces: readonly string[];
  readonly createdEventBlobs: boolean;
  readonly shape: 'LEDGER_EFFECTS' | 'ACS_DELTA';
  /** Bytes. */
  readonly maxFrameBytes: number;
  readonly topology: boolean;
}

export interface DatabaseConfig {
  /** Undefined runs the embedded Postgres. */
  readonly url: string | undefined;
  /** The file that holds the URL, if it comes from one. */
  readonly urlFile: string | undefined;
  readonly schema: string;
  readonly migrate: 'auto' | 'never';
  readonly statementTimeoutMs: number;
}

export interface ProcessConfig {
  readonly httpHost: string;
  /** 0 takes any free port. */
  readonly httpNames: readonly string[];
  readonly httpPort: number;
  readonly batchUpdates: number;
  readonly batchBytes: number;
  readonly inboxUpdates: number;
  readonly inboxBytes: number;
  readonly writeLanes: number;
  readonly quarantine: boolean;
  readonly unknownUpdates: 'auto' | 'park' | 'keep';
  /** Whether commits are told to listeners of the database. */
  readonly notify: boolean;
  readonly logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly logFormat: 'auto' | 'pretty' | 'json';
  readonly stalledAfterMs: number;
  /** So long without having learned the ledger end is not ready. */
  readonly blindAfterMs: number;
  readonly stopTimeoutMs: number;
  /** After so long without a sign of life another indexer takes over. */
  readonly leaseMs: number;
  readonly pingIntervalMs: number;
  /** After so long without a frame the ledger is asked whether anything lies before its end. */
  readonly askAfterMs: number;
  readonly start: 'seed' | 'genesis' | 'oldest' | number;
  /** Last offset to store; undefined: run for ever. */
  readonly stopAt: number | 'end' | undefined;
  readonly retryMaxMs: number;
  readonly dataDir: string;
  readonly demoUpdatesPerSecond: number;
  /** Multiplies the rate. */
  readonly demoSpeed: number;
  /** Most updates of the sandbox; undefined: it never ends. */
  readonly demoStopAt: number | undefined;
  readonly demoChaos: boolean;
  readonly demoSeed: number;
}

export interface Config {
  readonly ledger: LedgerConfig;
  readonly database: DatabaseConfig;
  readonly indexer: ProcessConfig;
}

export interface DescribedOption {
  readonly name: string;
  readonly env: string;
  /** As the operator wrote it, secrets masked. */
  readonly value: string;
  readonly origin: Origin;
}

/**
 * The configuration of this run.
 * @param argv the arguments after the command word
 * @throws IndexerError CONFIGURATION_INVALID (exit 78) whose message has one line for each problem
 */
export function loadConfig(argv: readonly string[], env: NodeJS.ProcessEnv): Config {
  const source = gatherOptions(argv, env);
  const config = {
    ledger: ledgerConfig(source),
    database: databaseConfig(source),
    indexer: processConfig(source),
  };
  source.refuseProblems();
  return config;
}

/** The same configuration as text for people, with the origin of each value. Throws like {@link loadConfig}. */
export function describeConfig(argv: readonly string[], env: NodeJS.ProcessEnv): readonly DescribedOption[] {
  const source = gatherOptions(argv, env);
  const described = optionList.map((option) => {
    source.read(option);
    return { name: option.name, env: option.env, ...source.show(option) };
  });
  accessConfig(source);
  source.refuseProblems();
  return described;
}

/** The option table as Markdown. */
export function configMarkdown(): string {
  const rows = optionList.map((option) => {
    const flag = option.secret === 'value' ? 'none' : `\`--${option.name}\``;
    const initial = (option.default ?? '') === '' ? option.unset : `\`${option.default}\``;
    const file = option.fileVariant ? ` Or \`${option.env}_FILE\`: a file that holds it.` : '';
    return `| \`${option.env}\` | ${flag} | ${initial} | ${option.doc}${file} |`;
  });
  return ['| Environment variable | Flag | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function ledgerConfig(source: OptionSource): LedgerConfig {
  const { read } = source;
  return {
    ...accessConfig(source),
    url: read(options.ledgerUrl),
    parties: read(options.ledgerParties),
    templates: read(options.ledgerTemplates),
    interfaces: read(options.ledgerInterfaces),
    createdEventBlobs: read(options.ledgerCreatedEventBlobs),
    shape: read(options.ledgerShape),
    maxFrameBytes: read(options.ledgerMaxFrame) ?? frameLimitFor(memoryOfProcess()),
    topology: read(options.ledgerTopology),
  };
}

function databaseConfig({ read, fileOf }: OptionSource): DatabaseConfig {
  return {
    url: read(options.databaseUrl),
    urlFile: fileOf(options.databaseUrl),
    schema: read(options.postgresSchema),
    migrate: read(options.postgresMigrate),
    statementTimeoutMs: read(options.postgresStatementTimeout),
  };
}

function processConfig({ read }: OptionSource): ProcessConfig {
  return {
    httpHost: read(options.httpHost),
    httpNames: read(options.httpNames),
    httpPort: read(options.httpPort),
    batchUpdates: read(options.batchUpdates),
    batchBytes: read(options.batchBytes),
    inboxUpdates: read(options.inboxUpdates),
    inboxBytes: read(options.inboxBytes),
    writeLanes: read(options.writeLanes),
    quarantine: read(options.quarantine),
    unknownUpdates: read(options.unknownUpdates),
    notify: read(options.notify),
    logLevel: read(options.logLevel),
    logFormat: read(options.logFormat),
    stalledAfterMs: read(options.stalledAfter),
    blindAfterMs: read(options.blindAfter),
    stopTimeoutMs: read(options.stopTimeout),
    leaseMs: read(options.lease),
    pingIntervalMs: read(options.pingInterval),
    askAfterMs: read(options.askAfter),
    start: read(options.start),
    stopAt: read(options.stopAt),
    retryMaxMs: read(options.retryMax),
    dataDir: read(options.dataDir),
    demoUpdatesPerSecond: read(options.demoUpdatesPerSecond),
    demoSpeed: read(options.demoSpeed),
    demoStopAt: read(options.demoStopAt),
    demoChaos: read(options.demoChaos),
    demoSeed: read(options.demoSeed),
  };
}
