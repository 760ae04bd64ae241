/** Injects a bug by replacing one text of a file. */
import { readFile, writeFile } from 'node:fs/promises';

/** @throws Error if the text does not occur exactly once, because the list of bugs is out of date */
export async function replaceOnce(path: string, line: string, replacement: string): Promise<void> {
  const fileSplit = (await readFile(path, 'utf8')).split(line);
  if (fileSplit.length !== 2) throw new Error(`the line is ${String(fileSplit.length - 1)} times in ${path}: ${line}`);
  await writeFile(path, fileSplit.join(replacement));
}
