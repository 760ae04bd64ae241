/** With a faulty ledger, the library returns every update once and in order, ends on request and reports errors. */
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import {
  createLedgerClient,
  followUpdates,
  isLedgerError,
  type FollowOptions,
} from '../../src/library/ledger-indexer.ts';

async function sandbox(updates: number): Promise<Sandbox> {
  const startedSandbox = await startSandbox({ limits: { checkpointIntervalMs: 50 } });
  generateHistory(startedSandbox.ledger, { seed: 3, updates });
  return startedSandbox;
}

/** Offsets of all updates except those outside of the requested filter. */
function offsetsOf({ ledger }: Sandbox): readonly number[] {
  const allUpdates = ledger.range(0, ledger.ledgerEnd(), Infinity);
  return allUpdates.flatMap(({ offset, update }) =>
    update === undefined || 'TopologyTransaction' in update ? [] : [offset],
  );
}

/** Follows until this offset; returns the offsets. */
async function collectUpdates(options: FollowOptions, lastOffset: number): Promise<readonly number[]> {
  const offsets: number[] = [];
  for await (const { offset } of followUpdates({ retryMaxDelayMs: 20, ...options })) {
    offsets.push(offset);
    if (offset >= lastOffset) break;
  }
  return offsets;
}

describe('followUpdates()', () => {
  it('returns each update once and in order despite frequent interruptions', async () => {
    await using ledger = await sandbox(400);
    ledger.faults.cutEveryFrames = { min: 3, max: 40 };
    const offsets = offsetsOf(ledger);
    const failures: string[] = [];
    const onRetry = (error: Error): void => void failures.push(isLedgerError(error) ? error.code : error.message);
    expect(await collectUpdates({ url: ledger.url, after: 0, onRetry }, offsets.at(-1) ?? 0)).toEqual(offsets);
    expect(failures.length).toBeGreaterThan(5);
    expect(new Set(failures)).toEqual(new Set(['LEDGER_STREAM_CLOSED']));
  });

  it('continues after a given offset, waits for new updates, and ends on abort', async () => {
    await using ledger = await sandbox(30);
    const offsets = offsetsOf(ledger);
    const [middleOffset = 0] = offsets.slice(15);
    const first = await collectUpdates({ url: ledger.url, after: 0 }, middleOffset);
    const stop = new AbortController();
    const laterUpdates: number[] = [];
    for await (const update of followUpdates({ url: ledger.url, after: middleOffset, signal: stop.signal })) {
      laterUpdates.push(update.offset);
      if (update.offset === offsets.at(-1)) generateHistory(ledger.ledger, { seed: 4, updates: 3 });
      // Aborts while the call waits, so that the signal must end the wait.
      if (update.offset === offsetsOf(ledger).at(-1)) setTimeout(() => stop.abort(), 50);
    }
    expect([...first, ...laterUpdates]).toEqual(offsetsOf(ledger));
    expect(laterUpdates.length).toBeGreaterThan(offsets.length - first.length);
  });

  it('returns offsets without an update if checkpoints is true', async () => {
    await using ledger = await sandbox(5);
    const end = ledger.ledger.ledgerEnd();
    const kinds = new Set<string>();
    for await (const { kind, offset, updateId } of followUpdates({ url: ledger.url, after: 0, checkpoints: true })) {
      kinds.add(kind);
      expect(updateId === undefined).toBe(kind === 'OffsetCheckpoint');
      if (offset >= end) break;
    }
    expect(kinds).toContain('Transaction');
  });

  it('rejects if the ledger has another history or a retry cannot succeed', async () => {
    await using ledger = await sandbox(10);
    const startOffset = offsetsOf(ledger)[4] ?? 0;
    const afterUpdateId = await firstId({ url: ledger.url, after: startOffset - 1 });
    const end = offsetsOf(ledger).at(-1) ?? 0;
    expect(await collectUpdates({ url: ledger.url, after: startOffset, afterUpdateId }, end)).toEqual(
      offsetsOf(ledger).slice(5),
    );
    await expect(
      collectUpdates({ url: ledger.url, after: startOffset, afterUpdateId: '1220ab' }, end),
    ).rejects.toMatchObject({
      code: 'HISTORY_CHANGED',
    });
    const templates = ['#nobody:Nowhere:Nothing'];
    await expect(collectUpdates({ url: ledger.url, after: startOffset, templates }, end)).rejects.toMatchObject({
      code: 'LEDGER_FILTER_UNKNOWN',
      retry: 'park',
    });
  });
});

async function firstId(options: FollowOptions): Promise<string> {
  for await (const { updateId } of followUpdates(options)) return updateId ?? '';
  return '';
}

describe('createLedgerClient()', () => {
  it('calls the token function, and rejects with a code and a remedy', async () => {
    await using ledger = await sandbox(3);
    let tokenReads = 0;
    const token = (): string => `token-${String((tokenReads += 1))}`;
    const client = createLedgerClient({ url: `${ledger.url}/`, token });
    expect(await client.state.ledgerEnd()).toBe(ledger.ledger.ledgerEnd());
    expect(tokenReads).toBe(1);
    const refusedClient = createLedgerClient({ url: ledger.url, token: 'two words' }).state.ledgerEnd();
    await expect(refusedClient).rejects.toMatchObject({
      code: 'LEDGER_TOKEN_MALFORMED',
      retry: expect.any(String) as string,
    });
    const failure: unknown = await createLedgerClient({ url: 'http://127.0.0.1:1' })
      .state.ledgerEnd()
      .catch((error: unknown) => error);
    expect(isLedgerError(failure) && failure.remedy).toMatch(/\w/);
    expect(isLedgerError(new Error('of another subject'))).toBe(false);
  });
});
