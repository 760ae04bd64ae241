/** How a person runs this program again from the folder where it was started. */
import { basename, dirname, join, relative } from 'node:path';

/**
 * `node dist/main.js` in a clone, `ledger-indexer` where that is installed. Never a name for a registry to look up: what
 * it found would be somebody else's.
 */
export function ownCommand(program = process.argv[1] ?? '', folder = process.cwd()): string {
  const inPackage = basename(dirname(program)) === '.bin';
  if (basename(program) === 'ledger-indexer' && !inPackage) return 'ledger-indexer';
  const path = relative(folder, program);
  const short = path.startsWith(join('..', '..')) ? program : path;
  return `node ${/^[\w./-]+$/.test(short) ? short : `'${short.replaceAll("'", String.raw`'\''`)}'`}`;
}
