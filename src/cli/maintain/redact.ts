/** `redact contract|exercise|party …`: removes contents for good; shows what would go unless told to do it. */
import { loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import { pageUrl } from '../../pages.ts';
import type { Database } from '../../store/connection/database.ts';
import { planRedaction, redact, type RedactionPlan, type RedactionRequest } from '../../store/retention/redact.ts';
import { parse, type Given } from '../command-line/parse.ts';
import { misuse } from '../command-line/refusals.ts';
import { commandNamed } from '../table/command-table.ts';
import { withDatabase } from '../database/with-database.ts';

const usage = [
  'ledger-indexer redact contract ID --reason TEXT [--with-exercises] [--active] [--yes] [--json]',
  'ledger-indexer redact exercise OFFSET:NODE --reason TEXT [--yes] [--json]',
  'ledger-indexer redact party PARTY --reason TEXT [--with-exercises] [--active] [--yes] [--json]',
].join('\n  ');

/** Reading all contracts of a party takes long where history is long. */
const statementTimeoutMs = 60 * 60_000;

interface Arguments {
  readonly request: RedactionRequest;
  readonly yes: boolean;
  readonly json: boolean;
}

/**
 * Ends at the signal with what was done so far; asked again, it removes the rest.
 * @throws IndexerError USAGE, REDACTION_REFUSED, REDACTION_STOPPED, STORE_NOT_PERMITTED
 */
export async function redactCommand(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const words = parse(commandNamed('redact'), argv);
  const given = { request: requestOf(words), yes: words.has('yes'), json: words.has('json') };
  const opening = { command: 'redact', remedy: 'name the database, as a role that may update', statementTimeoutMs };
  await withDatabase(loadConfig(words.options, env), opening, (database) =>
    given.yes ? carryOut(database, given, stop, write) : preview(database, given, write),
  );
}

async function preview(database: Database, { request, json }: Arguments, write: (line: string) => void): Promise<void> {
  const plan = await planRedaction(database, request);
  if (json) return write(JSON.stringify({ dryRun: true, ...plan }));
  write('contents that would be removed:');
  for (const line of lines(plan)) write(line);
  write('nothing was changed; add --yes to do it. It cannot be undone');
}

async function carryOut(
  database: Database,
  { request, json }: Arguments,
  stop: AbortSignal,
  write: (line: string) => void,
): Promise<void> {
  const result = await redact(database, request, stop);
  if (json) write(JSON.stringify({ dryRun: false, ...result }));
  else if (result.redactionId === undefined) write('nothing was left to be removed');
  else {
    write(`redaction ${result.redactionId}: contents removed`);
    for (const line of lines(result)) write(line);
    write('they live on in the WAL, in replicas and in backups until those are gone:');
    write(`  ${pageUrl('docs/retention.md')}`);
  }
  if (result.finished) return;
  throw new IndexerError('stopped before everything was removed', {
    code: 'REDACTION_STOPPED',
  });
}

function lines({ leftActive, setAside, ...counts }: RedactionPlan): readonly string[] {
  const { contracts, interfaceViews, exercises, reassignments } = counts;
  const rows = { contracts, interface_views: interfaceViews, exercises, reassignments };
  const shown = Object.entries(rows).map(
    ([table, count]) => `  ${table.padEnd(16)} ${String(count).padStart(12)} rows`,
  );
  if (leftActive > 0) shown.push(`  left alone, because active: ${leftActive} contracts (see --active)`);
  if (setAside.length > 0) {
    shown.push(
      `  still in quarantine, whole: updates at ${setAside.join(', ')}; ledger-indexer quarantine retry stores them without these contents`,
    );
  }
  return shown;
}

function requestOf(given: Given): RedactionRequest {
  const [kind = '', id = ''] = given.operands;
  const subject = subjectOf(kind, id);
  const reason = given.text('reason') ?? '';
  if (reason.trim() === '')
    throw wrong('redact needs --reason: it is what tells later readers why contents are missing');
  return { subject, reason, active: given.has('active'), exercises: given.has('with-exercises') };
}

function subjectOf(kind: string, id: string): RedactionRequest['subject'] {
  if (kind === 'contract') return { kind, contractId: id };
  if (kind === 'party') return { kind, party: id };
  const event = /^(\d{1,15}):(\d{1,9})$/.exec(id);
  if (event === null) throw wrong('an exercise is given as OFFSET:NODE, e.g. 120000:3');
  return { kind: 'exercise', offset: Number(event[1]), nodeId: Number(event[2]) };
}

function wrong(found: string): IndexerError {
  return misuse(found, usage);
}
