/** `quarantine`: lists updates that could not be stored, and retries them. */
import { loadConfig } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import { json, type Command, type PrintLine } from '../command-line/command.ts';
import { usageError } from '../command-line/refusals.ts';
import { withWriterLock, withStream } from '../database/maintenance.ts';

export const quarantineCommand: Command = {
  name: 'quarantine',
  usage: 'list [--json] | retry [OFFSET…]',
  summary: 'list quarantined updates, or retry to store them',
  does: ['Updates are quarantined only with INDEXER_QUARANTINE=true. Otherwise an update that fails stops the stream.'],
  operands: [
    { name: 'ACTION', words: ['list', 'retry'] },
    { name: 'OFFSET', optional: true, repeated: true },
  ],
  flags: [json],
  examples: ['quarantine list', 'quarantine retry 1042'],
  /**
   * `list` prints one line per update. `retry` stores the given updates or all of them, while the indexer is stopped.
   * @throws IndexerError USAGE, WRITER_ACTIVE, or QUARANTINE_RETRY_FAILED if an update could not be stored
   */
  run: async ({ args, env, print }) => {
    const config = loadConfig(env, args.options);
    const [action, ...offsetArgs] = args.operands;
    const invalidOffset = offsetArgs.find((argument) => !/^\d{1,16}$/.test(argument));
    if (invalidOffset !== undefined) throw usageError(`"${invalidOffset.slice(0, 80)}" is not an offset`, usage);
    if (action === 'list' && offsetArgs.length > 0) throw usageError('quarantine list takes no offsets', usage);
    await withStream(config, action === 'list' ? 'quarantine list' : 'quarantine retry', async (database) => {
      if (action === 'list') return list(database, args.has('json'), print);
      const { retryAll } = await import('./retry-quarantined.ts');
      const request = { offsets: offsetArgs.map(Number), policy: config.indexer.unknownUpdates, print };
      return withWriterLock(database, 'quarantine retry', () => retryAll(database, request));
    });
  },
};

const usage = 'ledger-indexer quarantine list [--json], or ledger-indexer quarantine retry [OFFSET…]';

async function list(database: Database, json: boolean, print: PrintLine): Promise<void> {
  const { listQuarantine } = await import('../../store/write/quarantine.ts');
  const rows = await listQuarantine(database);
  if (!json && rows.length === 0) print('the quarantine is empty');
  for (const row of rows) {
    const { offset, code, problem, bytes, quarantinedAt, attempts } = row;
    print(
      json
        ? JSON.stringify(row)
        : `${String(offset)}  ${quarantinedAt.toISOString()}  ${code}  ${String(bytes)} bytes, retried ${String(attempts)} times: ${problem}`,
    );
  }
}
