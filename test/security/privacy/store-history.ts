/** Stores a random history: its seed, its updates in batches of random sizes, and its completions. */
import type { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { decodeCompletion } from '../../../src/ledger/frames/decode-completion.ts';
import type { StoreSession } from '../../../src/store/write/session.ts';
import { text } from '../../support/frames.ts';
import { decodeActiveContract, decodeUpdate } from '../../support/wire/decode.ts';
import { parties, seedOffset, type PrivateHistory } from '../privacy-history.ts';

export async function storeHistory(session: StoreSession, history: PrivateHistory, random: Random): Promise<void> {
  await session.beginSeed(seedOffset);
  const seedBatch = session.newBatch(seedOffset);
  for (const entry of history.entries) seedBatch.addEntry(decodeActiveContract(text(entry)));
  await session.writeSeed(seedBatch, 0);
  await session.publishSeed(seedOffset, 'seed');
  for (let from = 0, checkpoint = seedOffset; from < history.updates.length;) {
    const untilOffset = from + random.between(1, 12);
    const batch = session.newBatch(checkpoint);
    for (const update of history.updates.slice(from, untilOffset)) batch.add(decodeUpdate(text(update)));
    await session.writeBatch(batch, checkpoint);
    [from, checkpoint] = [untilOffset, batch.offset];
  }
  const at = await session.completions.open({ begin: seedOffset, parties });
  const completions = history.completions
    .map((frame) => decodeCompletion(text(frame)))
    .filter((frame) => frame.kind === 'completion');
  await session.completions.write(completions, at, history.lastOffset);
}
