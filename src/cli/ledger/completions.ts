/** Verb `completions`: the outcomes of submitted commands. */
import { completionIn, type CompletionResponse } from '../../ledger/api/completions.ts';
import { followRows, frames, limitFlag, offsetType, partyFlag, readRemedies, type OffsetRow } from './streams.ts';
import { limitBatches, shortId, type RowFormat } from '../command-line/output.ts';
import { usageError } from '../command-line/refusals.ts';
import type { Verb, VerbCall } from './verb.ts';

/** Paths for completions of one user (all releases) or of all users (release 3.5.7 and later). */
type CompletionsPath = '/v2/commands/completions' | '/v2/commands/command-completions';

interface CompletionsRequest {
  readonly path: CompletionsPath;
  readonly who: { readonly parties: readonly string[]; readonly userId?: string };
}

/**
 * Milliseconds. The stream of completions has no end, but existing completions arrive immediately. If no frame arrives
 * for this long, there are no more.
 */
const silenceMs = 3_000;

interface CompletionRow extends OffsetRow {
  readonly response: CompletionResponse;
}

function rowOf(text: string, response: CompletionResponse): CompletionRow {
  const offset = (response.Completion ?? response.OffsetCheckpoint)?.value.offset ?? 0;
  return { text, offset, response };
}

const rowFormat: RowFormat<CompletionRow> = {
  columns: [
    { title: 'OFFSET', right: true, least: 8 },
    { title: 'STATUS', least: 12 },
    { title: 'COMMAND', least: 36 },
    { title: 'USER' },
    { title: 'ACT AS' },
    { title: 'UPDATE' },
  ],
  lines: ({ response: { Completion: completion } }) => {
    if (completion === undefined) return [];
    const { offset, status, commandId = '', userId = '', actAs = [], updateId } = completion.value;
    const failed = status?.message?.replace(/\(.*/s, '') ?? '';
    return [
      [
        String(offset),
        (status?.code ?? 0) === 0 ? 'accepted' : `${String(status?.code)} ${failed}`.trim(),
        commandId,
        userId,
        actAs.map(shortId).join(' '),
        shortId(updateId ?? ''),
      ],
    ];
  },
  json: ({ text }) => text,
};

function isCompletion({ response }: CompletionRow): boolean {
  return response.OffsetCheckpoint === undefined;
}

/** All existing completions, up to the ledger end if the stream reports it. */
async function* history(
  call: VerbCall,
  query: CompletionsRequest,
  beginExclusive: number,
): AsyncGenerator<readonly CompletionRow[]> {
  const { path, who } = query;
  const end = await call.client.state.ledgerEnd();
  for await (const texts of frames(call, path, { ...who, beginExclusive }, silenceMs)) {
    const rows = texts.map((text) => rowOf(text, completionIn(text, path)));
    yield rows.filter((row) => isCompletion(row) && row.offset <= end);
    if ((rows.at(-1)?.offset ?? 0) >= end) return;
  }
}

async function* followCompletions(
  call: VerbCall,
  { path, who }: CompletionsRequest,
  after: number,
): AsyncGenerator<readonly CompletionRow[]> {
  const request = (beginExclusive: number): object => ({ ...who, beginExclusive });
  const parseRow = (text: string): CompletionRow => rowOf(text, completionIn(text, path));
  for await (const rows of followRows(call, path, { after, request, read: parseRow })) yield rows.filter(isCompletion);
}

function queryOf({ args, config }: VerbCall): CompletionsRequest {
  const userId = args.text('user');
  const parties = args.list('party') ?? config.ledger.parties;
  if (userId === undefined) return { path: '/v2/commands/command-completions', who: { parties } };
  if (parties.length === 0) throw usageError('--user needs --party', 'pass the submitting parties with --party');
  return { path: '/v2/commands/completions', who: { parties, userId } };
}

async function completions(call: VerbCall): Promise<void> {
  const { args, client, output } = call;
  const query = queryOf(call);
  const follow = args.has('follow');
  const from = args.number('from') ?? (await (follow ? client.state.ledgerEnd() : client.state.latestPrunedOffsets()));
  const rows = follow ? followCompletions(call, query, from) : history(call, query, from);
  await output.rows(limitBatches(rows, args.number('limit')), rowFormat);
}

export const completionVerbs: readonly Verb[] = [
  {
    name: 'completions',
    summary: 'print outcomes of submitted commands',
    operands: [],
    flags: [
      partyFlag,
      {
        name: 'from',
        value: 'OFFSET',
        type: offsetType,
        doc: 'start after this offset; default pruned offset, with --follow ledger end',
      },
      { name: 'user', value: 'ID', doc: 'only of this user; required by participants before release 3.5.7' },
      { name: 'follow', doc: 'continue with new completions until interrupted' },
      limitFlag,
    ],
    example: 'ledger completions --party alice::1220… --from 250',
    remedies: {
      ...readRemedies,
      LEDGER_NOT_A_LEDGER: 'check LEDGER_URL; a participant before 3.5.7 needs --user and --party',
    },
    run: completions,
  },
];
