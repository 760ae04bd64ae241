/** `redact contract|exercise|party …`: removes contents permanently. Without `--yes` it only counts them. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { pageUrl } from '../../page-url.ts';
import type { Database } from '../../store/connection/database.ts';
import type { LakeContracts, RedactionPlan, RedactionRequest } from '../../store/retention/redact.ts';
import { aligned, fixedWidthColumn, numbers } from '../command-line/aligned.ts';
import { json, writeExitCodes, yesFlag, type Call, type Command, type PrintLine } from '../command-line/command.ts';
import type { Args } from '../command-line/parse.ts';
import { usageError } from '../command-line/refusals.ts';
import { loadLake, withLake } from '../lake/lake-package.ts';
import { withDatabase } from '../database/with-database.ts';

export const redactCommand: Command = {
  name: 'redact',
  usage:
    '(contract ID | exercise OFFSET:NODE | party PARTY) --reason TEXT [--include-active] [--with-exercises] [--exported DIR] [--yes]',
  summary: 'remove contents of a contract, an exercise or a party permanently',
  does: [
    'Payloads, arguments and results become null, even if the ledger is read again. Of a party, labels are removed too. With',
    '--exported, pruned contents that are only in that export are found; the next export removes them from its files.',
  ],
  operands: [{ name: 'WHAT', words: ['contract', 'exercise', 'party'] }, { name: 'ID' }],
  flags: [
    { name: 'reason', value: 'TEXT', doc: 'reason, stored with the redaction' },
    { name: 'include-active', doc: 'also redact contracts that are still active' },
    { name: 'with-exercises', doc: 'also redact the exercises of the contracts' },
    {
      name: 'exported',
      value: 'DIR',
      doc: 'also contents only in this export: folder or s3://BUCKET/PREFIX',
    },
    yesFlag,
    json,
  ],
  examples: ['redact contract 00ab12 --reason "request 17"', 'redact party alice::1220ab --reason left --yes'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/redact.md',
  /**
   * On a signal, ends after the current step; the same command then removes the rest.
   * @throws IndexerError USAGE, REDACTION_REFUSED, REDACTION_STOPPED, EXPORT_PACKAGE_MISSING, EXPORT_REFUSED,
   * STORE_NOT_PERMITTED
   */
  run: async ({ args, env, stop, print }) => {
    const request = requestOf(args);
    const lake = args.text('exported');
    if (lake !== undefined) await loadLake();
    const openOptions = { command: 'redact', feature: 'redact', statementTimeoutMs } as const;
    await withDatabase(loadConfig(env, args.options), openOptions, async (database) => {
      const lakeMatches = lake === undefined ? undefined : await foundInLake(database, lake, request, env);
      const redaction = {
        request: { ...request, ...(lakeMatches !== undefined && { inLake: lakeMatches }) },
        json: args.has('json'),
      };
      await (args.has('yes') ? runRedaction(database, redaction, stop, print) : preview(database, redaction, print));
    });
  },
};

const usage = [
  'ledger-indexer redact contract ID --reason TEXT [--with-exercises] [--include-active] [--exported DIR] [--yes] [--json]',
  'ledger-indexer redact exercise OFFSET:NODE --reason TEXT [--exported DIR] [--yes] [--json]',
  'ledger-indexer redact party PARTY --reason TEXT [--with-exercises] [--include-active] [--exported DIR] [--yes] [--json]',
].join('\n  ');

/** Milliseconds. All contracts of a party are read, which takes long if the history is long. */
const statementTimeoutMs = 60 * 60_000;

interface RedactRequest {
  readonly request: RedactionRequest;
  readonly json: boolean;
}

async function foundInLake(
  database: Database,
  lake: string,
  { subject }: RedactionRequest,
  env: Call['env'],
): Promise<LakeContracts> {
  const { readsOf } = await import('../../store/exported/snapshot.ts');
  return await withLake((lakeModule) => lakeModule.foundInLake(readsOf(database), lake, subject, env));
}

async function preview(database: Database, { request, json }: RedactRequest, print: PrintLine): Promise<void> {
  const { planRedaction } = await import('../../store/retention/redact.ts');
  const plan = await planRedaction(database, request);
  if (json) return print(JSON.stringify({ dryRun: true, ...plan }));
  print('contents that would be removed:');
  for (const line of lines(plan)) print(line);
  print('nothing was changed; to remove the contents, add --yes. This cannot be undone');
}

async function runRedaction(
  database: Database,
  { request, json }: RedactRequest,
  stop: AbortSignal,
  print: PrintLine,
): Promise<void> {
  const { redact } = await import('../../store/retention/redact.ts');
  const result = await redact(database, request, stop);
  if (json) print(JSON.stringify({ dryRun: false, ...result }));
  else if (result.redactionId === undefined) print('there is nothing to remove');
  else {
    print(`redaction ${result.redactionId}: contents removed`);
    for (const line of lines(result)) print(line);
    print('the contents remain in the WAL, replicas and backups until these are deleted:');
    print(`  ${pageUrl('docs/how-to/change/redact.md#what-is-not-removed')}`);
  }
  if (result.finished) return;
  throw new IndexerError('stopped before everything was removed', {
    code: 'REDACTION_STOPPED',
  });
}

function lines({ skippedActive, onlyInLake, labels, quarantined, ...counts }: RedactionPlan): readonly string[] {
  const { contracts, interfaceViews, exercises, reassignments } = counts;
  const labelRows = labels > 0 ? { party_labels: labels } : {};
  const rows = { contracts, interface_views: interfaceViews, exercises, reassignments, ...labelRows };
  const cells = Object.entries(rows).map(([table, count]) => [table, String(count), 'rows']);
  const columns = [fixedWidthColumn(16), numbers(12)];
  const output = [...aligned(cells, { indent: 2, gap: 1, columns })];
  if (skippedActive > 0) output.push(`  skipped because active: ${skippedActive} contracts (see --include-active)`);
  if (onlyInLake > 0)
    output.push(`  only in the export: ${onlyInLake}; the next export removes their contents from its files`);
  if (quarantined.length > 0) {
    output.push(
      `  still complete in quarantine: updates at ${quarantined.join(', ')}; ledger-indexer quarantine retry stores them without these contents`,
    );
  }
  return output;
}

function requestOf(args: Args): RedactionRequest {
  const [kind = '', id = ''] = args.operands;
  const subject = subjectOf(kind, id);
  const reason = args.text('reason') ?? '';
  if (reason.trim() === '')
    throw commandUsageError('redact needs --reason, which explains to readers why contents are missing');
  return { subject, reason, active: args.has('include-active'), exercises: args.has('with-exercises') };
}

function subjectOf(kind: string, id: string): RedactionRequest['subject'] {
  if (kind === 'contract') return { kind, contractId: id };
  if (kind === 'party') return { kind, party: id };
  const event = /^(\d{1,15}):(\d{1,9})$/.exec(id);
  if (event === null) throw commandUsageError('an exercise is written as OFFSET:NODE, e.g. 120000:3');
  return { kind: 'exercise', offset: Number(event[1]), nodeId: Number(event[2]) };
}

function commandUsageError(message: string): IndexerError {
  return usageError(message, usage);
}
