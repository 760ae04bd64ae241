/** The Delta log of the lake when another program also writes to it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DeltaLogs } from '../src/delta/delta-log.ts';
import { LakeFolder } from '../src/storage/lake-folder.ts';
import { Manifest } from '../src/manifest/manifest.ts';

const offset = { name: 'offset', type: 'int64' } as const;
const manifest = new Manifest(
  {
    participant: null,
    filterHash: '',
    shape: '',
    until: null,
    coverage: [],
    tables: { updates: { columns: [offset] } },
  },
  [],
  false,
);

it('the Delta log rejects a commit as an operator error if another program has written its version', async () => {
  const path = mkdtempSync(join(tmpdir(), 'delta-log-'));
  try {
    const folder = new LakeFolder(path);
    await folder.prepare();
    const log = new DeltaLogs(folder);
    await log.compare(manifest);
    mkdirSync(join(path, 'updates/_delta_log'), { recursive: true });
    writeFileSync(join(path, 'updates/_delta_log/00000000000000000001.json'), '{"commitInfo":{}}\n');
    const widerSchema = { updates: { columns: [offset, { name: 'kind', type: 'text' } as const] } };
    await expect(log.follow(widerSchema, { added: [], gone: [] })).rejects.toMatchObject({
      code: 'EXPORT_BUSY',
      message: 'another program wrote version 1 of the Delta log of updates',
    });
  } finally {
    rmSync(path, { recursive: true });
  }
});
