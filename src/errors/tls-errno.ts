/** Codes of Node for connections that fail in TLS: those of OpenSSL's certificate check, and those of the handshake. */
const errno =
  /^(?:CERT_|CRL_|ERROR_IN_C|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|UNSPECIFIED$|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$)/u;

/** @param code `code` of an error of a socket */
export function isTlsErrno(code: string): boolean {
  return errno.test(code);
}
