/** Completions of submissions: lists and streams, for one user and for all users. */
import { expect } from 'vitest';
import { from, isFrom } from '../../../packages/ledger-sandbox/src/wire/release.ts';
import { completionIn, type CompletionResponse } from '../../../src/ledger/api/completions.ts';
import type { Call, Case, Session } from './row.ts';
import { hashOfExecuted } from './rows-interactive.ts';
import { collect } from './rows-state.ts';
import type { World } from '../world.ts';

const shortIdle = { limit: 3, streamIdleTimeoutMs: 50 };

interface CompletionsRequest {
  readonly parties: readonly string[];
  readonly beginExclusive: number;
}
type CompletionsCall = (session: Session, request: CompletionsRequest) => Promise<unknown>;

const requestFor = ({ bank, pruned: prunedOffset }: World): CompletionsRequest => ({
  parties: [bank],
  beginExclusive: prunedOffset,
});

function refusals(call: CompletionsCall): NonNullable<Case['refused']> {
  const from =
    (beginExclusive: number): Call =>
    (session, world) =>
      call(session, { ...requestFor(world), beginExclusive });
  return {
    NEGATIVE_OFFSET: from(-1),
    OFFSET_AFTER_LEDGER_END: from(2 ** 52),
    PARTICIPANT_PRUNED_DATA_ACCESSED: from(0),
  };
}

function checkCompletions(result: unknown): void {
  const completions = result as readonly CompletionResponse[];
  expect(completions[0]?.Completion?.value).toMatchObject({ commandId: 'many-0', userId: 'admin' });
}

const paths = ['/v2/commands/completions', '/v2/commands/command-completions'] as const;

const listedCases: readonly Case[] = paths.flatMap((path): readonly Case[] => {
  const isUserScoped = path === '/v2/commands/completions';
  const since: Pick<Case, 'releases' | 'as'> = isUserScoped ? { as: 'admin' } : { as: 'admin', releases: from('3.5') };
  const list: CompletionsCall = ({ client }, request) =>
    collect(
      isUserScoped
        ? client.completions.list(request, shortIdle)
        : client.completions.commandCompletions(request, shortIdle),
    );
  const stream: CompletionsCall = async (session, request) =>
    (await session.stream(path, request, 3)).map((text) => completionIn(text, path));
  const partyRefusals: NonNullable<Case['refused']> = {
    MISSING_FIELD: (session, { pruned: prunedOffset }) => list(session, { parties: [], beginExclusive: prunedOffset }),
  };
  return [
    {
      ...since,
      operation: `POST ${path}`,
      call: (session, world) => list(session, requestFor(world)),
      check: checkCompletions,
      body: 'json',
      badQuery: ['limit', 'stream_idle_timeout_ms'],
      refused: {
        ...refusals(list),
        ...(isUserScoped ? partyRefusals : {}),
        JSON_API_MAXIMUM_LIST_ELEMENTS_NUMBER_REACHED: ({ client }, world) =>
          collect(
            isUserScoped
              ? client.completions.list(requestFor(world))
              : client.completions.commandCompletions(requestFor(world)),
          ),
      },
    },
    {
      ...since,
      operation: `WS ${path}`,
      call: (session, world) => stream(session, requestFor(world)),
      check: checkCompletions,
      refused: refusals(stream),
    },
  ];
});

const hashCase: Case = {
  operation: 'POST /v2/commands/completion-by-hash',
  releases: from('3.6'),
  needs: 'nothing',
  call: async ({ client }, world) => {
    const hash = isFrom(world.release, '3.6') ? await hashOfExecuted(world) : 'EiA=';
    return await client.completions.byHash(hash);
  },
  check: (result) =>
    expect(result).toMatchObject({ acceptedCompletion: { status: { code: 0 } }, lastRejectedCompletions: [] }),
  refused: {
    COMPLETION_NOT_FOUND: { run: ({ client }) => client.completions.byHash('EiA='), releases: from('3.6') },
    '401': { run: ({ client }) => client.completions.byHash('EiA='), as: 'stranger', releases: from('3.6') },
  },
};

export const completionCases: readonly Case[] = [...listedCases, hashCase];
