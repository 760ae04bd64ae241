/** The promises of docs/explanation/reliability.md, each with the test files that verify it. */
export const promises: Readonly<Record<string, readonly string[]>> = {
  // The tests compare digests of all tables: test/support/digest.ts.
  P1: [
    'test/chaos/campaign.long.test.ts',
    'test/e2e/kill.slow.test.ts',
    'test/faults/connection.long.test.ts',
    'test/faults/seed.slow.test.ts',
  ],
  // The chaos suite includes a death at every message of the connections.
  P2: [
    'test/store/lossless.test.ts',
    'test/store/lanes.slow.test.ts',
    'test/store/connection/database.test.ts',
    'test/chaos/campaign.long.test.ts',
  ],
  P3: ['test/history/parks.long.test.ts', 'test/history/filter.slow.test.ts', 'test/e2e/participant-id.slow.test.ts'],
  P4: [
    'test/e2e/quarantine.slow.test.ts',
    'test/e2e/ledger-timeout.long.test.ts',
    'test/faults/connection.long.test.ts',
    'test/faults/silence.slow.test.ts',
    'test/observe/health/verdict.test.ts',
  ],
  // The last test uses complete histories that were recorded from a participant.
  P5: [
    'test/store/lossless.test.ts',
    'test/model/escape.test.ts',
    'test/ledger/frames/raw-json.test.ts',
    'test/e2e/samples.slow.test.ts',
    'test/recordings/replay.long.test.ts',
  ],
  // The last test sends 400 MB of frames to a process with a heap of 64 MiB.
  P6: [
    'test/pipeline/inbox.test.ts',
    'test/ledger/transport/refusal-bounds.test.ts',
    'test/store/connection/database.test.ts',
    'test/faults/process.long.test.ts',
  ],
  P7: [
    'test/e2e/takeover.long.test.ts',
    'test/store/writer-lock.slow.test.ts',
    'test/store/lossless.test.ts',
    'test/ha/failover.slow.test.ts',
  ],
  // For each rule and each comparison, an injected error must be found.
  P8: ['test/verify/invariants.long.test.ts', 'test/verify/verify.slow.test.ts'],
  // The output is searched for secrets, in several encodings.
  P9: ['test/security/canary.long.test.ts', 'test/faults/process.long.test.ts', 'test/observe/logger.test.ts'],
  // Both the indexer and the receiver are killed.
  P10: ['test/changes/changes-kill.slow.test.ts', 'test/webhooks/webhooks-kill.slow.test.ts'],
};
