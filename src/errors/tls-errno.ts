/** Node error codes of failed TLS connections, from the certificate check of OpenSSL and from the handshake. */
const errno =
  /^(?:CERT_|CRL_|ERROR_IN_C|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_CA$|INVALID_PURPOSE$|PATH_LENGTH_EXCEEDED$|UNSPECIFIED$|ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$)/u;

/** @param code the `code` of a socket error */
export function isTlsErrno(code: string): boolean {
  return errno.test(code);
}
