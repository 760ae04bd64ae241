/** Masks secrets in URLs. */

/** A database URL with its password masked, wherever the password is in the URL. */
export function maskUrl(url: string): string {
  // The pattern is greedy up to the last @, because an unescaped @ or / in a password must not leave its tail visible.
  return url
    .replace(/(:\/\/[^:/?@]*):.*@/, '$1:***@')
    .replaceAll(/([?&][a-z]*(?:password|passphrase|token|secret)=)[^&]*/gi, '$1***');
}

/**
 * An address without credentials, query and fragment, which may contain a key. Also works for text that is not a valid
 * address.
 */
export function maskAddress(text: string): string {
  return text.replace(/^((?:[a-z][a-z+.-]*:\/\/)?).*@/is, '$1***@').replace(/([?#]).*$/s, '$1***');
}
