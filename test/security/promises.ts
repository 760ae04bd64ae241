/**
 * The promises in docs/explanation/security-model.md and docs/how-to/secure. For each promise, the list names the tests
 * that fail if it is broken.
 */
interface SecurityPromise {
  readonly promise: string;
  /** Test files, or folders of test files. */
  readonly tests: readonly string[];
}

export const securityPromises: readonly SecurityPromise[] = [
  { promise: 'All of it, by an attacker outside of the program', tests: ['test/attack/attack.slow.test.ts'] },
  {
    promise: 'Rights that an upgrade changed, and sessions that block the writer, are named',
    tests: ['test/security/roles/operation.slow.test.ts'],
  },
  {
    promise: 'Each role is refused what it does not need, statement by statement; an indexer needs no more',
    tests: ['test/security/roles.slow.test.ts'],
  },
  {
    promise: 'Each command works as its least role, and lesser roles are refused with the role to connect as',
    tests: ['test/security/roles/features.slow.test.ts'],
  },
  { promise: 'Readers limited to parties see nothing of others', tests: ['test/read/roles.slow.test.ts'] },
  { promise: 'The same over GraphQL, with a valid token', tests: ['test/graphql/postgraphile.outside.test.ts'] },
  {
    promise: 'They see exactly what the ledger would return to their parties, in random histories',
    tests: ['test/security/privacy.slow.test.ts'],
  },
  {
    promise: 'The same through `/api`, for reader tokens and users of the participant, on every route',
    tests: ['test/api/leaks.slow.test.ts'],
  },
  {
    promise: 'Redacted contents do not return with data in flight',
    tests: ['test/retention/redacted-in-flight.test.ts', 'test/retention/redacted-in-lists.long.test.ts'],
  },
  {
    promise: 'No code of a reader runs with the rights of another, and functions have the right callers',
    tests: ['test/security/functions.slow.test.ts'],
  },
  {
    promise: 'Functions and views run nothing that was placed in `public`, for a superuser either',
    tests: ['test/security/victims.slow.test.ts'],
  },
  {
    promise: 'Nothing is created in a schema that belongs to an untrusted role',
    tests: ['test/security/squatter.slow.test.ts'],
  },
  {
    promise:
      'Readers have limits of connections and temporary files, take no advisory locks, and leave connections free',
    tests: ['test/security/readers'],
  },
  {
    promise: 'Agents read with the token of their caller only, and hostile texts stay data',
    tests: ['packages/mcp/test/mcp.long.test.ts', 'packages/mcp/test/configuration.test.ts'],
  },
  {
    promise: 'Only requests with headers of direct clients count as local',
    tests: ['test/observe/local-caller.test.ts'],
  },
  {
    promise: 'Users of the participant see exactly what it lets them read, and only while it confirms that',
    tests: ['test/security/node-tokens', 'test/observe/node-tokens.test.ts', 'test/ledger/node-rights.test.ts'],
  },
  {
    promise: 'A token with many requests at `/changes` does not delay another one',
    tests: ['test/changes/fairness.test.ts'],
  },
  {
    promise: 'New connections are not closed before their first request',
    tests: ['test/observe/connections.test.ts'],
  },
  {
    promise: 'A token whose login has another password is named, with the commands that help',
    tests: ['test/changes/token-login.slow.test.ts'],
  },
  {
    promise: 'Endpoints withstand slow, large and many requests',
    tests: ['test/security/http-limits.slow.test.ts'],
  },
  {
    promise: 'Texts of megabytes from a third party stop nothing: errors of Postgres, cells of an export',
    tests: ['test/observe/long-texts.test.ts'],
  },
  {
    promise: 'The status page keeps its policy, escapes markup, and has no password, contents or party',
    tests: ['test/page', 'test/observe/status-page.test.ts'],
  },
  {
    promise: '`verify-full` against a real server: authority, name, client certificate',
    tests: ['test/store/connection/postgres-tls.slow.test.ts'],
  },
  { promise: 'Ledger over TLS, client certificates', tests: ['test/ledger/transport/tls.test.ts'] },
  {
    promise: 'No token, password or content in log, metrics, status or command line, under faults',
    tests: ['test/security/canary.long.test.ts'],
  },
  {
    promise: 'Hidden characters in a secret do not bypass the filter',
    tests: ['test/security/peers/hidden-secrets.test.ts'],
  },
  { promise: 'Damaged frames are decoded or refused', tests: ['test/fuzz/decoder.long.test.ts'] },
  {
    promise: 'Characters that reverse text are printed as escapes',
    tests: ['test/security/peers/hidden-characters.test.ts'],
  },
  {
    promise: 'Responses without an end, and large packages, cost bounded time and memory',
    tests: ['test/security/peers/endless-hints.test.ts', 'test/security/peers/large-package.test.ts'],
  },
  {
    promise: 'No password reaches a server on the network in clear text or as an MD5 hash',
    tests: ['test/security/peers/password-on-the-network.test.ts'],
  },
  {
    promise: 'Secret files that are not small regular files, and data folders of others, are refused',
    tests: ['test/security/files'],
  },
  {
    promise: 'A file or folder in the current folder gets no token, and is not run',
    tests: ['test/security/peers/foreign-note.test.ts', 'packages/embedded-postgres/test'],
  },
  {
    promise: 'An export changes nothing outside of its folder, which is closed to other users',
    tests: ['test/lake/foreign.slow.test.ts'],
  },
  {
    promise: 'Long lists of parties fit a small heap, also at the next start',
    tests: ['test/security/peers/party-lists.slow.test.ts'],
  },
  {
    promise: 'Hostile names become no identifiers',
    tests: ['test/security/hostile-names.slow.test.ts'],
  },
  {
    promise: 'Damaged packages are refused',
    tests: ['test/daml/hostile-packages.test.ts', 'test/daml/compiled-packages.outside.test.ts'],
  },
  {
    promise: 'Tokens over plain http, in flags and in `config` are refused or masked',
    tests: ['test/config/config.test.ts', 'test/ledger/access/token.test.ts'],
  },
];
