/** What in an address is secret, and how it is shown without. */

/** A database URL with the password hidden, wherever it stands. */
export function maskUrl(url: string): string {
  // Greedy up to the last @: an unescaped @ or / in a password must not leave its tail visible.
  return url
    .replace(/(:\/\/[^:/?@]*):.*@/, '$1:***@')
    .replaceAll(/([?&][a-z]*(?:password|passphrase|token|secret)=)[^&]*/gi, '$1***');
}

/** An address without what may hold a key: credentials, query and fragment, also where it does not look like one. */
export function maskAddress(text: string): string {
  return text.replace(/^((?:[a-z][a-z+.-]*:\/\/)?).*@/is, '$1***@').replace(/([?#]).*$/s, '$1***');
}
