/** `quarantine`: updates that were set aside because they could not be stored; tries to store them after all. */
import { loadConfig } from '../../config/config.ts';
import type { Database } from '../../store/connection/database.ts';
import { json, type Command, type Print } from '../command-line/command.ts';
import { misuse } from '../command-line/refusals.ts';
import { asWriter, withStream } from '../database/maintenance.ts';

export const quarantineCommand: Command = {
  name: 'quarantine',
  usage: 'list [--json] | retry [OFFSET…]',
  summary: 'updates set aside because they could not be stored: list them, or store them where they belong',
  does: ['Only with INDEXER_QUARANTINE=true are updates set aside; otherwise one that fails stops the stream.'],
  operands: [
    { name: 'ACTION', words: ['list', 'retry'] },
    { name: 'OFFSET', optional: true, repeated: true },
  ],
  flags: [json],
  examples: ['quarantine list', 'quarantine retry 1042'],
  /**
   * `list` prints one line per update; `retry` stores those named, or all, with the indexer stopped.
   * @throws IndexerError USAGE, WRITER_ACTIVE, or QUARANTINE_RETRY_FAILED when one could not be stored
   */
  run: async ({ given, env, print }) => {
    const config = loadConfig(env, given.options);
    const [action, ...words] = given.operands;
    const wrong = words.find((word) => !/^\d{1,16}$/.test(word));
    if (wrong !== undefined) throw misuse(`"${wrong.slice(0, 80)}" is no offset`, usage);
    if (action === 'list' && words.length > 0) throw misuse('quarantine list takes no offsets', usage);
    await withStream(config, action === 'list' ? 'quarantine list' : 'quarantine retry', async (database) => {
      if (action === 'list') return list(database, given.has('json'), print);
      const { retryAll } = await import('./retry-quarantined.ts');
      const asked = { offsets: words.map(Number), policy: config.indexer.unknownUpdates, print };
      return asWriter(database, 'quarantine retry', () => retryAll(database, asked));
    });
  },
};

const usage = 'ledger-indexer quarantine list [--json], or ledger-indexer quarantine retry [OFFSET…]';

async function list(database: Database, json: boolean, print: Print): Promise<void> {
  const { listQuarantine } = await import('../../store/write/quarantine.ts');
  const rows = await listQuarantine(database);
  if (!json && rows.length === 0) print('nothing is set aside');
  for (const row of rows) {
    const { offset, code, problem, bytes, quarantinedAt, attempts } = row;
    print(
      json
        ? JSON.stringify(row)
        : `${String(offset)}  ${quarantinedAt.toISOString()}  ${code}  ${String(bytes)} bytes, tried again ${String(attempts)} times: ${problem}`,
    );
  }
}
