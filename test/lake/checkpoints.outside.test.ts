/** delta-rs reads complete tables from the checkpoints of the Delta log after earlier commits are deleted. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generatedReads } from '../../bench/lake/made-reads.ts';
import { DeltaLogs } from '../../packages/lake/src/delta/delta-log.ts';
import { exportOnce } from '../../packages/lake/src/export/run-export.ts';
import { openLake } from '../../packages/lake/src/storage/open-lake.ts';
import { needs } from '../support/skips/needs.ts';
import { lakeDir } from './lake-world.ts';

const python = process.env['LAKE_PYTHON'] ?? 'python3';
const isInstalled = spawnSync(python, ['-c', 'import deltalake, pyarrow']).status === 0;
const reason = isInstalled ? undefined : 'needs deltalake, pyarrow (LAKE_PYTHON)';

const script = `
import json, os, sys
from deltalake import DeltaTable
table = DeltaTable(sys.argv[1])
rows = table.to_pyarrow_table()
offsets = sorted(rows.column('offset').to_pylist())
print(json.dumps([table.version(), len(table.file_uris()), len(offsets), offsets == list(range(len(offsets))), rows.schema.names]))
sys.stdout.flush()
# An engine's threads are not waited for.
os._exit(0)
`;

const columns = ['offset', 'contract_id', 'template_fqn', 'payload'];

it('delta-rs opens a table from its newest checkpoint', { timeout: 180_000, ...needs(reason) }, async () => {
  using dir = lakeDir();
  const folder = await openLake(dir.path, {});
  await folder.prepare();
  const options = { isWanted: () => true, stop: new AbortController().signal, onProgress: () => undefined };
  const databaseReads = generatedReads({ tables: 2, ranges: 250, rows: 3 });
  await exportOnce(databaseReads, folder, { ...options, until: undefined, logs: new DeltaLogs(folder) });
  for (const table of ['updates', 'typed.made_001']) {
    const log = join(dir.path, table, '_delta_log');
    const readTables = (): unknown =>
      JSON.parse(execFileSync(python, ['-c', script, join(dir.path, table)], { encoding: 'utf8' }));
    expect(readTables()).toEqual([249, 250, 750, true, columns]);
    for (const name of readdirSync(log))
      if (/^\d+\.json$/.test(name) && Number(name.slice(0, 20)) <= 200) rmSync(join(log, name));
    expect(readTables()).toEqual([249, 250, 750, true, columns]);
  }
});
