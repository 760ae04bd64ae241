/**
 * The shell commands of the pages. Defines values for the names in them, and lists the commands that the test in this
 * folder does not run, each with a reason.
 */
import type { Block } from './pages.ts';

/** Values for the commands on the pages. */
export interface ShellContext {
  readonly ledgerUrl: string;
  /** URL of a ledger that tests may change. */
  readonly spareUrl: string;
  readonly databaseUrl: string;
  readonly httpUrl: string;
  /** Folder that contains the files that commands name. */
  readonly folder: string;
  /** A party of the ledger, a template of one of its contracts, an update, an exercise and an archived contract. */
  readonly party: string;
  readonly template: string;
  readonly offset: number;
  readonly exercise: string;
  readonly archived: string;
}

interface Replacement {
  readonly from: string | RegExp;
  readonly to: (shellContext: ShellContext) => string;
}

/** Texts on the pages, with their replacements in tests. */
const replacements: readonly Replacement[] = [
  { from: /https:\/\/participant\.example(?:\.com)?:7575/g, to: ({ ledgerUrl }) => ledgerUrl },
  { from: /http:\/\/(?:localhost|127\.0\.0\.1):7575/g, to: ({ spareUrl }) => spareUrl },
  { from: /http:\/\/(?:localhost|127\.0\.0\.1):7580/g, to: ({ httpUrl }) => httpUrl },
  { from: /postgres:\/\/[^\s'"]+/g, to: ({ databaseUrl }) => databaseUrl },
  { from: /\/run\/secrets(?=\/)/g, to: ({ folder }) => folder },
  { from: /alice::1220…/g, to: ({ party }) => party },
  { from: /,bob::1220…/g, to: () => '' },
  { from: /#iou:Iou:Iou/g, to: ({ template }) => `#${template}` },
  { from: /\bledger update 250\b/g, to: ({ offset }) => `ledger update ${String(offset)}` },
  { from: /\boffset=42\b/g, to: ({ offset }) => `offset=${String(offset)}` },
  { from: /\b120000:3\b/g, to: ({ exercise }) => exercise },
  { from: /\bexplain 120000\b/g, to: ({ offset }) => `explain ${String(offset)}` },
  { from: /after=120000\b/g, to: ({ offset }) => `after=${String(offset)}` },
  { from: /--before 120000\b/g, to: ({ offset }) => `--before ${String(offset)}` },
  { from: /\b00ab…/g, to: ({ archived: archivedId }) => archivedId },
  // The test database also serves as a PQS database, in a separate schema.
  { from: /\bcompare-pqs --pqs-file\b/g, to: () => 'compare-pqs --pqs-schema pqs --pqs-file' },
  // Commands that do not end are stopped after three seconds.
  { from: /^curl -N [^]*$/g, to: () => 'timeout 3 $& --fail || test $? = 124' },
  { from: /^.* --follow .*$/g, to: () => 'timeout 3 $& || test $? = 124' },
];

/** A command with the values of the test. */
export function withContext(command: string, shellContext: ShellContext): string {
  return replacements.reduce(
    (text, { from, to }) => text.replaceAll(from, (matchText) => to(shellContext).replace('$&', matchText)),
    command,
  );
}

interface NotRun {
  /** Path of a page, or of a folder of pages. */
  readonly page: string;
  /** Matches the commands that are not run. */
  readonly command: RegExp;
  readonly reason: string;
}

/** Commands that this test does not run. It reports unused entries. */
export const skippedCommands: readonly NotRun[] = [
  { page: '', command: /^npm start/, reason: 'the daemon itself: test/e2e starts it in every way' },
  { page: '', command: /^npm install /, reason: 'needs the registry; the packed package is installed by its own test' },
  {
    page: 'docs/how-to/integrate/typescript.md',
    command: / --no-install ledger-indexer codegen/,
    reason: 'is of an app with the packed package: test/package runs it there',
  },
  { page: 'docs/how-to/secure/reader-tokens.md', command: /^curl /, reason: 'does not end: test/changes' },
  { page: 'docs/how-to/secure/node-tokens.md', command: /^curl /, reason: 'does not end: test/security/node-tokens' },
  { page: 'docs/how-to/integrate/change-feed.md', command: /^curl /, reason: 'does not end: test/changes' },
  {
    page: 'docs/how-to/integrate/test-your-app.md',
    command: /^git clone |npm pack/,
    reason: 'is of this repository: test/package packs it',
  },
  {
    page: 'docs/how-to/run/tracing.md',
    command: / npx --no-install ledger-indexer$/,
    reason: 'the daemon itself, with packages of others',
  },
  { page: 'README.md', command: /^npm test/, reason: 'is the run that this test is a part of' },
  { page: 'docs/how-to/secure/container.md', command: /^docker run /, reason: 'needs a container engine and an image' },
  {
    page: 'docs/how-to/secure/roles.md',
    command: / ledger-indexer$/,
    reason: 'the daemon itself: test/security/roles.slow.test.ts',
  },
  { page: 'CONTRIBUTING.md', command: /npx vitest run /, reason: 'is a test run of its own' },
  {
    page: 'CONTRIBUTING.md',
    command: /reduce-descriptions/,
    reason: 'needs descriptions of a participant: test/conformance/reduce-descriptions.test.ts',
  },
  {
    page: 'docs/reference/commands.md',
    command: /^ledger-indexer demo-info/,
    reason: 'needs a demo: test/cli/demo.long.test.ts',
  },
  {
    page: 'docs/how-to/query/rejected-commands.md',
    command: /^ledger-indexer explain/,
    reason: 'needs a rejected command: test/completions/explain-command.slow.test.ts',
  },
  {
    page: 'docs/how-to/integrate/graphql.md',
    command: /^(?:docker compose|cd docs\/deploy\/graphql|npm |export )/,
    reason: 'needs an engine, packages of others and their servers: test/graphql, .ci/compose-test',
  },
  {
    page: 'docs/how-to/integrate/agents.md',
    command: /^(?:cd packages\/mcp|npm |INDEXER_URL=)/,
    reason: 'needs the registry, and does not end: packages/mcp/test',
  },
  { page: 'docs/how-to/integrate/hasura.md', command: /^curl /, reason: 'needs Hasura: test/graphql' },
  {
    page: 'docs/how-to/query/payload-indexes.md',
    command: /index suggest/,
    reason: 'needs an extension: test/read/index-verb.slow.test.ts',
  },
  {
    page: 'docs/how-to/run/citus.md',
    command: /^ledger-indexer migrate --citus/,
    reason: 'needs workers; see test/citus',
  },
  {
    page: 'docs/how-to/integrate/parquet-export.md',
    command: / s3:/,
    reason: 'needs a bucket: test/lake/bucket.outside.test.ts',
  },
  {
    page: 'docs/how-to/integrate/parquet-export.md',
    command: / projection (?:drop|add) volumes/,
    reason: 'needs this projection: test/projections/users/exported.slow.test.ts',
  },
];

/** Pages whose commands another test runs or compares with the program. */
export const otherCommandTests: ReadonlyMap<string, string> = new Map([
  ['docs/runbook/', 'test/alerts/runbook.long.test.ts'],
  ['docs/deploy/', 'test/cli/deploy.test.ts'],
  ['docs/how-to/run/backup-and-restore.md', 'test/backup/dump.outside.test.ts'],
  ['docs/how-to/query/own-projections.md', 'test/docs/own-projections.slow.test.ts'],
  ['docs/how-to/integrate/http-api.md', 'test/api/examples.slow.test.ts'],
]);

/** The commands of a block without comments. Continued lines are joined. */
export function commandsOf({ text }: Block): readonly string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(?:^|\s+)#(?:\s.*)?$/, '').trim())
    .filter((line) => line !== '');
}

/** The entry for a command that is not run; undefined if it is run. */
export function skipReasonFor(page: string, command: string): NotRun | undefined {
  return skippedCommands.find((entry) => page.startsWith(entry.page) && entry.command.test(command));
}
