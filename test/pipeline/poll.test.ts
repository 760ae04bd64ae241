/** Tests the polls of the ledger: their reports, the stored offsets, and the effect of failures on the session. */
import type { Subscription } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { IndexerError } from '../../src/errors/indexer-error.ts';
import { poll$ } from '../../src/pipeline/background/poll.ts';
import type { PipelineLimits } from '../../src/pipeline/ports/parts.ts';
import { emptyRange } from '../../src/pipeline/retry/isolate-failing-update.ts';
import { deferred } from '../support/deferred.ts';
import { pause, waitFor } from '../support/wait-for.ts';
import { failure } from './memory-ledger.ts';
import { memoryWorld, type World } from './memory-parts.ts';

interface PollWorld extends World {
  readonly ends: readonly number[];
  /** Number of requests to reopen the stream with another token. */
  readonly renewed: () => number;
  readonly failed: () => IndexerError | undefined;
  readonly subscription: Subscription;
}

/** Polls a ledger whose end is 30, for a stream at `checkpoint`. */
function pollWorld(
  checkpoint: number,
  limits: Partial<PipelineLimits> = {},
  prepareWorld: (world: World) => void = () => undefined,
): PollWorld {
  const world = memoryWorld({ limits: { pollMs: 1, ...limits } });
  world.ledger.end = 30;
  world.ledger.pruned = 4;
  prepareWorld(world);
  const probeEnds: number[] = [];
  let renewedCount = 0;
  let firstFailure: IndexerError | undefined;
  const followState = {
    checkpoint,
    lastFrameAt: () => Number.NEGATIVE_INFINITY,
    renew: () => {
      renewedCount += 1;
    },
    apart: emptyRange,
    stopAt: undefined,
    onCommitted: () => undefined,
  };
  const connected = { session: world.sink.takeOver(), requestedAt: Number.NEGATIVE_INFINITY };
  const subscription = poll$(world.parts, connected, followState, (end) => probeEnds.push(end)).subscribe({
    error: (error: IndexerError) => {
      firstFailure = error;
    },
  });
  return { ...world, ends: probeEnds, renewed: () => renewedCount, failed: () => firstFailure, subscription };
}

describe('ledger-end poll', () => {
  it('stores and reports ledger end and pruned offset, and reports verification results', async () => {
    const results = [{ kind: 'invariants', atOffset: 10, startedAtMs: 1, seconds: 1, different: 0 }];
    const run = pollWorld(30, {}, ({ sink }) => {
      sink.verified = results;
    });
    await waitFor('what was noted', () => (run.reports.of('polls.contractsUnhosted').length > 1 ? true : undefined));
    run.subscription.unsubscribe();
    expect(run.ends[0]).toBe(30);
    expect(run.reports.of('polls.ledgerEnd')[0]).toEqual([30]);
    expect(run.reports.of('polls.pruned')[0]).toEqual([4]);
    expect(run.sink.ledgerFacts[0]).toEqual({ ledgerEnd: 30, pruned: 4 });
    expect(run.reports.of('polls.verified')[0]).toEqual([results]);
    expect(run.failed()).toBeUndefined();
  });

  it('ends the session if the ledger end rises but no frames arrive', async () => {
    const run = pollWorld(20, { silenceMs: 0 });
    await waitFor('the end', run.failed);
    expect(run.failed()).toMatchObject({ code: 'LEDGER_PING_TIMEOUT', retry: 'retry' });
  });

  it('accepts an idle stream whose checkpoint is the ledger end', async () => {
    const run = pollWorld(30, { silenceMs: 0 });
    await waitFor('some polls', () => (run.ends.length > 3 ? true : undefined));
    run.subscription.unsubscribe();
    expect(run.failed()).toBeUndefined();
  });

  it('reports a failure, retries, and keeps the session', async () => {
    const run = pollWorld(30, {}, ({ ledger }) => {
      ledger.before = (request, count) => refuse(request === 'ledgerEnd' && count === 1, 'LEDGER_UNAVAILABLE');
    });
    await waitFor('the next poll', () => (run.ends.length > 0 ? true : undefined));
    run.subscription.unsubscribe();
    expect(run.reports.failures).toEqual([['LEDGER_UNAVAILABLE', true]]);
    expect(run.failed()).toBeUndefined();
  });

  it('reports the ledger end even if the request for the pruned offset fails', async () => {
    const run = pollWorld(30, {}, ({ ledger }) => {
      ledger.before = (request) => refuse(request === 'latestPrunedOffsets', 'LEDGER_UNAVAILABLE');
    });
    await waitFor('what was noted', () => (run.sink.ledgerFacts.length > 0 ? true : undefined));
    run.subscription.unsubscribe();
    expect(run.ends[0]).toBe(30);
    expect(run.sink.ledgerFacts[0]).toEqual({ ledgerEnd: 30, pruned: undefined });
    expect(run.reports.of('polls.pruned')).toEqual([]);
  });

  it('discards one token after consecutive rejections, then reopens the stream', async () => {
    const run = pollWorld(30, {}, ({ ledger }) => {
      ledger.before = (request, count) => refuse(request === 'ledgerEnd' && count <= 3, 'LEDGER_UNAUTHENTICATED');
    });
    await waitFor('an answer', () => (run.renewed() > 0 && run.ends.length > 2 ? true : undefined));
    run.subscription.unsubscribe();
    expect(run.tokens.invalidated).toBe(1);
    expect(run.renewed()).toBe(1);
    expect(run.reports.failures.length).toBe(3);
  });

  it('continues while the database does not respond, and stores the offsets later', async () => {
    const slowWrite = deferred();
    const run = pollWorld(30, {}, ({ sink }) => {
      sink.before = (sinkCall, count) => (sinkCall === 'noteLedger' && count === 1 ? slowWrite.promise : undefined);
    });
    await waitFor('concurrent polls', () => (run.ends.length > 3 ? true : undefined));
    expect(run.sink.count('noteLedger')).toBe(1);
    slowWrite.reject(failure('STORE_UNREACHABLE'));
    await waitFor('the next note', () => (run.sink.ledgerFacts.length > 0 ? true : undefined));
    run.subscription.unsubscribe();
    expect(run.reports.failures).toEqual([['STORE_UNREACHABLE', true]]);
    expect(run.failed()).toBeUndefined();
  });

  it('ends with its session', async () => {
    const run = pollWorld(30);
    await waitFor('a poll', () => (run.ends.length > 0 ? true : undefined));
    run.subscription.unsubscribe();
    const callCount = run.reports.calls.length;
    await pause(50);
    expect(run.reports.calls.length).toBe(callCount);
  });
});

function refuse(condition: boolean, code: 'LEDGER_UNAVAILABLE' | 'LEDGER_UNAUTHENTICATED'): void {
  if (condition) throw failure(code);
}
