/** Quotes text for commands that users paste into a shell. */

/** The text as one quoted word of a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Like {@link shellQuote}, but only adds quotes if they are needed. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : shellQuote(text);
}
