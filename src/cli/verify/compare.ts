/**
 * Runs the comparisons of `verify` in one snapshot: the tables with their invariants, and with the ledger's active
 * contracts and updates. Writes only the result.
 */
import { writeFile } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import { ExitCode } from '../../errors/exit-code.ts';
import { IndexerError, toIndexerError, withContext } from '../../errors/indexer-error.ts';
import { ParticipantOffsets } from '../../ledger/frames/participant-offsets.ts';
import type { LedgerFilter } from '../../ledger/api/request-format.ts';
import type { Database } from '../../store/connection/database.ts';
import { inSnapshot, type Snapshot } from '../../store/verify/snapshot.ts';
import { recordVerifications } from '../../store/verify/verifications.ts';
import { verifyActive } from './active-contracts.ts';
import type { Call, Terminal } from '../command-line/command.ts';
import { withDatabase } from '../database/with-database.ts';
import { openClient } from '../database/open-client.ts';
import type { VerifyCall } from './call.ts';
import {
  exitCodeOf,
  timeComparison,
  formatResults,
  type Compared,
  type VerifyKind,
  type VerifyResult,
  listedFindings,
} from './result.ts';
import { verifyProjections } from './projections.ts';
import { verifyRange, verifyTail } from './updates.ts';
import { readSchemas } from '../../store/connection/read-schemas.ts';
import { tokenDiscrepancies } from '../../store/verify/token-discrepancies.ts';
import { brokenRules } from '../../store/verify/broken-rules.ts';

const requestTimeoutMs = 20_000;
/** Milliseconds. Reading entire tables takes up to a day. */
const statementTimeoutMs = 24 * 60 * 60 * 1000;

/** The comparisons to run, and where to write the report. */
export interface VerifyArguments {
  readonly invariants: boolean;
  /** Whether to compare the events that admins of tokens log with their holdings. */
  readonly tokens: boolean;
  /** Number of ranges of each projection to compare with its SELECT, or all; undefined for none. */
  readonly projections: number | 'all' | undefined;
  /** Number of newest updates to compare; undefined for none. */
  readonly tail: number | undefined;
  readonly acs: boolean;
  /** Offset of the active contracts; undefined for the checkpoint. */
  readonly at: number | undefined;
  /** First and last offset of a range of updates to compare. */
  readonly range: readonly [number, number] | undefined;
  /**
   * File for JSON output; `-` for standard output. Undefined also means JSON on standard output unless it is a
   * terminal.
   */
  readonly json: string | undefined;
}

/**
 * Runs the selected comparisons, and prints and stores the results. The exit code is 0 if everything is equal, 1 if
 * something differs, and 2 if something could not be decided.
 * @throws IndexerError CONFIGURATION_INVALID, or the reason why there is nothing to compare
 */
export async function compare(args: VerifyArguments, config: Config, io: Call): Promise<ExitCode> {
  if (config.database.url === undefined) throw missingOptionError('DATABASE_URL');
  const openOptions = { command: 'verify', feature: 'verify', statementTimeoutMs, connections: 2 } as const;
  try {
    return await withDatabase(config, openOptions, async (database) => {
      const results = await compareAll(args, config, database, io);
      await report(results, args, io);
      await recordVerifications(database, results);
      return exitCodeOf(results);
    });
  } catch (thrown) {
    throw undecidableError(thrown);
  }
}

async function compareAll(
  args: VerifyArguments,
  config: Config,
  database: Database,
  io: Call,
): Promise<readonly VerifyResult[]> {
  const progress = progressLine(io.stderr);
  try {
    return await inSnapshot(database, async (snapshot) => {
      const { checkpoint } = snapshot.stream;
      const results: VerifyResult[] = [];
      const add = async (kind: VerifyKind, at: number, compare: () => Promise<Compared>): Promise<void> => {
        results.push(await timeComparison(kind, at, compare));
      };
      const { invariants, tokens, projections, tail, acs, at: offset, range } = args;
      if (invariants) await add('invariants', checkpoint, () => verifyRules(snapshot, progress.display));
      if (tokens) await add('tokens', checkpoint, () => verifyTokens(snapshot, database.schema));
      if (projections !== undefined) {
        const call = { snapshot, schema: database.schema, ranges: projections, progress: progress.display };
        await add('projections', checkpoint, () => verifyProjections(call));
      }
      if (!acs && tail === undefined && range === undefined) return results;
      const call = await ledgerCall(config, snapshot, io.stop, progress.display);
      if (tail !== undefined) await add('tail', checkpoint, () => withSameLedger(call, () => verifyTail(call, tail)));
      if (range !== undefined)
        await add('range', range[1], () => withSameLedger(call, () => verifyRange(call, ...range)));
      if (acs) await add('acs', offset ?? checkpoint, () => withSameLedger(call, () => verifyActive(call, offset)));
      return results;
    });
  } finally {
    progress.end();
  }
}

async function ledgerCall(
  config: Config,
  snapshot: Snapshot,
  stop: AbortSignal,
  progress: VerifyCall['progress'],
): Promise<VerifyCall> {
  const { url } = config.ledger;
  if (url === undefined) throw missingOptionError('LEDGER_URL');
  const { access, client } = await openClient({ ledger: config.ledger, url, requestTimeoutMs, stop });
  // The comparisons use the stored filter and participant instead of the configured ones.
  const filter = snapshot.stream.filter as LedgerFilter;
  const { participantRange } = snapshot.stream;
  const participantOffsets = participantRange === undefined ? undefined : new ParticipantOffsets(participantRange);
  return { url, config, access, stop, snapshot, client, filter, participantOffsets, progress };
}

/** Refuses another participant: it has other offsets, so every row would differ without being wrong. */
async function withSameLedger(call: VerifyCall, compare: () => Promise<Compared>): Promise<Compared> {
  const { participantId: storedParticipantId, checkpoint } = call.snapshot.stream;
  const ledgerParticipantId = await call.client.parties.participantId().catch((thrown: unknown) => {
    if (thrown instanceof IndexerError && thrown.code === 'LEDGER_PERMISSION_DENIED') return undefined;
    throw thrown;
  });
  if (
    storedParticipantId !== null &&
    ledgerParticipantId !== undefined &&
    storedParticipantId !== ledgerParticipantId
  ) {
    throw cannotVerifyError(
      `the tables hold participant ${storedParticipantId}, the ledger is participant ${ledgerParticipantId}`,
      'set LEDGER_URL to the participant that was indexed',
    );
  }
  const participantEnd = await call.client.state.ledgerEnd();
  const end = call.participantOffsets?.toStreamOffset(participantEnd) ?? participantEnd;
  if (end >= checkpoint) return compare();
  throw cannotVerifyError(
    `the ledger ends at offset ${String(end)}, before the stored checkpoint ${String(checkpoint)}`,
    'run `ledger-indexer status`: the participant lags or was reset',
  );
}

async function report(results: readonly VerifyResult[], args: VerifyArguments, io: Call): Promise<void> {
  const { json } = args;
  const text = `${JSON.stringify({ outcome: outcomeOf(results), results }, undefined, 2)}\n`;
  const toStdout = json === '-' || (json === undefined && io.stdout.isTTY !== true);
  io.stdout.write(toStdout ? text : `${formatResults(results).join('\n')}\n`);
  if (json !== undefined && json !== '-') await writeFile(json, text);
}

function outcomeOf(results: readonly VerifyResult[]): string {
  const code = exitCodeOf(results);
  return code === ExitCode.stopped ? 'equal' : code === ExitCode.different ? 'different' : 'undecided';
}

/** Reports any failure of a comparison as undecided, except for wrong arguments. */
function undecidableError(thrown: unknown): IndexerError {
  const error = toIndexerError(thrown);
  if (error.code === 'UNEXPECTED' || error.exitCode === ExitCode.configuration) return error;
  return withContext(error, { exitCode: ExitCode.undecided });
}

function cannotVerifyError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'VERIFY_IMPOSSIBLE', remedy });
}

function missingOptionError(name: string): IndexerError {
  return new IndexerError(`${name} is not set`, {
    code: 'CONFIGURATION_INVALID',
    remedy: `set ${name} as for the indexer, or run \`ledger-indexer verify --invariants\`, which needs only the database`,
  });
}

// `verify --invariants`: checks the rules of docs/reference/invariants.md on the tables; needs no ledger.

/** @param progress called with the current rule and the number of completed rules */
async function verifyRules(
  { client, stream }: Snapshot,
  progress: (label: string, doneCount: number) => void,
): Promise<Compared> {
  const { rules, broken: brokenRows } = await brokenRules(client, progress);
  return {
    atOffset: stream.checkpoint,
    compared: rules,
    different: brokenRows.reduce((sum, { count }) => sum + count, 0),
    quarantined: 0,
    findings: brokenRows
      .flatMap(({ rule, says: description, rows }) =>
        rows.map((row) => ({ type: 'broken' as const, rule: `${rule} (${description})`, ...row })),
      )
      .slice(0, listedFindings),
  };
}

// `verify --tokens`: compares the events that registries log with the holdings. A difference is an error of a registry,
// not of the tables.

async function verifyTokens({ client, stream }: Snapshot, schema: string): Promise<Compared> {
  const { explore } = readSchemas(schema);
  const { events, listed: discrepancies } = await tokenDiscrepancies(client, explore, listedFindings);
  return {
    atOffset: stream.checkpoint,
    compared: events,
    different: discrepancies[0]?.count ?? 0,
    quarantined: 0,
    findings: discrepancies.map(({ offset, instrument }) => {
      return { type: 'different' as const, offset, row: `change of ${instrument}`, fields: ['logged', 'moved'] };
    }),
  };
}

// Displays the progress of a comparison on a terminal.

interface ProgressLine {
  /** Displays the number of entries read; at most five updates per second are printed. */
  readonly display: (label: string, readCount: number) => void;
  /** Removes the progress line. */
  readonly end: () => void;
}

const progressIntervalMs = 200;
const clearLine = '\r\u001b[K';

/** A progress line on a terminal. Without a terminal it prints nothing. */
function progressLine(terminal: Terminal): ProgressLine {
  let displayedAtMs = Number.NEGATIVE_INFINITY;
  return {
    display: (label, readCount) => {
      if (terminal.isTTY !== true || performance.now() - displayedAtMs < progressIntervalMs) return;
      displayedAtMs = performance.now();
      terminal.write(`${clearLine}${label} ${String(readCount)}`);
    },
    end: () => {
      if (terminal.isTTY === true && Number.isFinite(displayedAtMs)) terminal.write(clearLine);
    },
  };
}
