/** Without the export package, the installed command names the package and does not export, prune or redact. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHistory, updates } from '../lake/small-history.ts';
import { query } from '../support/database.ts';
import { schemasOfFile } from '../support/schemas.ts';
import { installCommand, type Installation } from './installed-command.ts';

const schemas = schemasOfFile();

let installation: Installation;
beforeAll(async () => {
  installation = installCommand();
  await startHistory(schemas, 'unpacked', updates());
});
afterAll(() => installation[Symbol.dispose]());

const run = (...argv: readonly string[]) =>
  installation.run(argv, { DATABASE_URL: schemas.url, POSTGRES_SCHEMA: 'unpacked' });

/** Counts that a prune or a redaction would change. */
const readStored = (): Promise<readonly object[]> =>
  query(
    schemas.url,
    `select (select count(*) from unpacked.updates)::int as updates, (select count(payload) from unpacked.contracts)::int as payloads,
            (select count(*) from unpacked.redactions)::int as redactions, (select pruned_to_offset from unpacked.stream) as kept`,
  );

describe('installation without the export package', () => {
  it.each([
    ['export', ['--to', 'lake']],
    ['prune --exported', ['--before', '3', '--exported', 'lake', '--yes']],
    ['redact --exported', ['contract', '00c1', '--reason', 'r', '--exported', 'lake', '--yes']],
  ])('rejects `%s` with the install command and changes nothing', async (name, argv) => {
    const storedBefore = await readStored();
    const { code, text } = await run(name.split(' ')[0] ?? '', ...argv);
    expect(text).toMatch(
      /EXPORT_PACKAGE_MISSING[^]*npm pack --workspace packages\/lake[^]*npm install \.\/ledger-indexer-lake-\d+\.\d+\.\d+\.tgz/,
    );
    expect(code).toBe(78);
    expect(await readStored()).toEqual(storedBefore);
    expect(existsSync(join(installation.folder, 'lake'))).toBe(false);
  });

  it('runs `prune` without --exported', async () => {
    expect(await run('prune', '--before', '3', '--yes')).toMatchObject({ code: 0 });
    expect(await readStored()).toMatchObject([{ updates: 7, payloads: 5 }]);
  });
});
