/** The tally of a list of active contracts. The indexer compares two reads of a list by their tallies. */
import { describe, expect, it } from 'vitest';
import { decodeActiveContract } from '../support/wire/decode.ts';
import { ListTally } from '../../src/pipeline/proof/list-proof.ts';
import * as frames from '../support/frames.ts';

const entry = (contractId: string, change: object = {}): string =>
  JSON.stringify(
    frames.entry(
      'JsActiveContract',
      { createdEvent: frames.created({ contractId }), synchronizerId: 's::1220', reassignmentCounter: 0 },
      { streamContinuationToken: '', ...change },
    ),
  );

function tallyOf(...texts: string[]): ListTally {
  const leafTally = new ListTally();
  for (const text of texts) leafTally.addText(text);
  return leafTally;
}

describe('ListTally', () => {
  it('ignores the order of entries, and detects a missing, repeated or different entry', () => {
    const expectedTally = tallyOf(entry('00a'), entry('00b'), entry('00c'));
    expect(expectedTally.token).toBeNull();
    expect(expectedTally.equals(tallyOf(entry('00c'), entry('00a'), entry('00b')))).toBe(true);
    expect(expectedTally.equals(tallyOf(entry('00a'), entry('00b')))).toBe(false);
    expect(expectedTally.equals(tallyOf(entry('00a'), entry('00b'), entry('00b')))).toBe(false);
    expect(expectedTally.equals(tallyOf(entry('00a'), entry('00b'), entry('00d')))).toBe(false);
  });

  it('ignores event blobs', () => {
    const blob = JSON.stringify({
      ...(JSON.parse(entry('00a')) as object),
      contractEntry: {
        JsActiveContract: {
          createdEvent: frames.created({ contractId: '00a', createdEventBlob: 'AAAA' }),
          synchronizerId: 's::1220',
          reassignmentCounter: 0,
        },
      },
    });
    expect(tallyOf(entry('00a')).equals(tallyOf(blob))).toBe(true);
  });

  it('contains the token of the last entry at any field position, but no token in a payload', () => {
    expect(tallyOf(entry('00a', { streamContinuationToken: 'dG9r' })).token).toBe('dG9r');
    const first = { streamContinuationToken: 'eA==', ...(JSON.parse(entry('00a')) as object) };
    const movedEntry = JSON.stringify({ ...first, streamContinuationToken: 'eA==' });
    expect(movedEntry.startsWith('{"streamContinuationToken"')).toBe(true);
    expect(tallyOf(entry('00a', { streamContinuationToken: 'dG9r' }), movedEntry).token).toBe('eA==');
    const disguisedEntry = entry('00a', {
      workflowId: '"streamContinuationToken":"eA=="}',
      streamContinuationToken: null,
    });
    expect(tallyOf(disguisedEntry).token).toBeNull();
  });

  it('is equal for frames and decoded entries', () => {
    const decodedTally = new ListTally();
    decodedTally.add(decodeActiveContract(entry('00a')));
    expect(decodedTally.equals(tallyOf(entry('00a')))).toBe(true);
    expect(new ListTally('dG9r').token).toBe('dG9r');
  });
});
