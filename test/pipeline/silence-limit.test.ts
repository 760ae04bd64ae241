/** Limit on how long a stream may be silent while the ledger end rises. */
import { expect, it } from 'vitest';
import { SilenceLimit } from '../../src/pipeline/background/poll.ts';

/** A stream whose last frame came an hour ago. */
function silenceWorld(limitMs: number) {
  const followState = { checkpoint: 10, lastFrameAt: () => performance.now() - 3_600_000 };
  const limit = new SilenceLimit(followState, limitMs);
  return { following: followState, refuse: (ledgerEnd: number) => () => limit.refuse(ledgerEnd) };
}

it('the silence limit starts when the ledger end rises, and excludes earlier idle hours', () => {
  const { following: followState, refuse } = silenceWorld(60_000);
  expect(refuse(10)).not.toThrow();
  expect(refuse(11)).not.toThrow();
  followState.checkpoint = 11;
  expect(refuse(12)).not.toThrow();
});

it('the silence limit is exceeded if the ledger end stays above the checkpoint for that long', () => {
  const { following: followState, refuse } = silenceWorld(0);
  expect(refuse(10)).not.toThrow();
  expect(refuse(11)).toThrow('no frame for 0 s although the ledger end 11 is past the checkpoint');
  followState.checkpoint = 11;
  expect(refuse(11)).not.toThrow();
});
