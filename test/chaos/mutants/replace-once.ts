/** Injects a bug by replacing one text of a file. */
import { readFile, writeFile } from 'node:fs/promises';

/** @throws Error if the text does not occur exactly once, because the list of bugs is out of date */
export async function replaceOnce(path: string, line: string, instead: string): Promise<void> {
  const parts = (await readFile(path, 'utf8')).split(line);
  if (parts.length !== 2) throw new Error(`the line is ${String(parts.length - 1)} times in ${path}: ${line}`);
  await writeFile(path, parts.join(instead));
}
