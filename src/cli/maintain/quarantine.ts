/** `quarantine`: updates that were set aside because they could not be stored; tries to store them after all. */
import { IndexerError, toIndexerError } from '../../errors/indexer-error.ts';
import { decodeUpdate } from '../../ledger/frames/wire.ts';
import type { UnknownPolicy } from '../../model/unknown.ts';
import { refuseUnknownKind } from '../../pipeline/follow/unknown-kinds.ts';
import type { Database } from '../../store/connection/database.ts';
import { storeLate } from '../../store/write/late-update.ts';
import { listQuarantine, noteAttempt, quarantinedFrame } from '../../store/write/quarantine.ts';
import { asWriter, maintenanceArguments, withStream } from '../database/maintenance.ts';
import { misuse } from '../command-line/refusals.ts';

const ofTheUpdate: ReadonlySet<string> = new Set([
  'UPDATE_UNDECODABLE',
  'UPDATE_KIND_UNKNOWN',
  'STORE_DATA_REFUSED',
  'KEY_REPEATED',
  'ENDS_UNKNOWN',
]);

/**
 * `quarantine list [--json]` prints one line per update; `quarantine retry [OFFSET…]` stores those named, or all, with the
 * indexer stopped.
 * @throws IndexerError USAGE, WRITER_ACTIVE, or STILL_QUARANTINED when one could not be stored
 */
export async function quarantineCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  write: (line: string) => void,
): Promise<void> {
  const { config, given } = maintenanceArguments('quarantine', argv, env);
  const [action, ...words] = given.operands;
  const wrong = words.find((word) => !/^\d{1,16}$/.test(word));
  if (wrong !== undefined) throw misuse(`"${wrong.slice(0, 80)}" is no offset`, usage);
  if (action === 'list' && words.length > 0) throw misuse('quarantine list takes no offsets', usage);
  await withStream(config, 'quarantine', (database) => {
    if (action === 'list') return list(database, given.has('json'), write);
    return asWriter(database, 'quarantine retry', () =>
      retryAll(database, { offsets: words.map(Number), policy: config.indexer.unknownUpdates, write }),
    );
  });
}

const usage = 'ledger-indexer quarantine list [--json], or ledger-indexer quarantine retry [OFFSET…]';

async function list(database: Database, json: boolean, write: (line: string) => void): Promise<void> {
  const rows = await listQuarantine(database);
  if (!json && rows.length === 0) write('nothing is set aside');
  for (const row of rows) {
    const { offset, code, found, bytes, quarantinedAt, attempts } = row;
    write(
      json
        ? JSON.stringify(row)
        : `${String(offset)}  ${quarantinedAt.toISOString()}  ${code}  ${String(bytes)} bytes, tried again ${String(attempts)} times: ${found}`,
    );
  }
}

interface Retry {
  /** None: all. */
  readonly offsets: readonly number[];
  readonly policy: UnknownPolicy;
  readonly write: (line: string) => void;
}

async function retryAll(database: Database, asked: Retry): Promise<void> {
  const named = asked.offsets;
  const offsets = named.length > 0 ? named : (await listQuarantine(database)).map(({ offset }) => offset);
  if (offsets.length === 0) asked.write('nothing is set aside');
  let failed = 0;
  for (const offset of offsets) if (!(await retry(database, offset, asked))) failed += 1;
  if (failed > 0) throw stillThere(failed);
}

async function retry(database: Database, offset: number, { policy, write }: Retry): Promise<boolean> {
  const frame = await quarantinedFrame(database, offset);
  try {
    const update = decodeUpdate(frame.toString('utf8'));
    refuseUnknownKind(update, policy);
    await storeLate(database, update);
    write(`${String(offset)} stored`);
    return true;
  } catch (thrown) {
    const error = toIndexerError(thrown);
    // What is no failure of this update is nothing to go on after.
    if (!ofTheUpdate.has(error.code)) throw error;
    await noteAttempt(database, offset);
    write(`${String(offset)} still refused: ${error.code}: ${error.message}`);
    return false;
  }
}

function stillThere(failed: number): IndexerError {
  return new IndexerError(`${String(failed)} update(s) still cannot be stored`, {
    code: 'STILL_QUARANTINED',
  });
}
