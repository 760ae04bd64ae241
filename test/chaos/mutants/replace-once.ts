/** Injects a bug: one position of a file is replaced. */
import { readFile, writeFile } from 'node:fs/promises';

/** @throws Error when the text does not occur exactly once: the list of bugs is out of date */
export async function replaceOnce(path: string, line: string, instead: string): Promise<void> {
  const parts = (await readFile(path, 'utf8')).split(line);
  if (parts.length !== 2) throw new Error(`the line is ${String(parts.length - 1)} times in ${path}: ${line}`);
  await writeFile(path, parts.join(instead));
}
