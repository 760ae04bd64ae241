/** Texts in commands that people paste into a shell. */

/** As one word of a POSIX shell, in quotes. */
export function inQuotes(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The same, in quotes only where they are needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : inQuotes(text);
}
