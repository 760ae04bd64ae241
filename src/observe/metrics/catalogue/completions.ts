/** Metrics of the results of submitted commands. */
import { counter, gauge } from './description.ts';

export const completions = {
  completionsFollowed: gauge({
    name: 'completions_followed',
    help: '1 while completions are followed.',
    use: '0 with INDEXER_COMPLETIONS=off, or if the participant does not return them to this user: /status has the reason.',
  }),
  completionCheckpoint: gauge({
    name: 'completion_checkpoint_offset',
    help: 'Offset up to which completions are stored; 0 if they are not followed.',
    use: 'checkpoint_offset minus it is the distance. Without submissions a participant reports its position about once a minute.',
  }),
  completionsStored: counter({
    name: 'completions_total',
    help: 'Completions stored, by result of the command.',
    use: 'rate() of rejected over rate() of all: the share of failing commands.',
    labels: { result: ['accepted', 'rejected'] },
  }),
  rejectedCommands: counter({
    name: 'rejected_commands_total',
    help: "Rejected commands, by the ledger's error code.",
    use: 'explore.rejected_commands has each with its reason.',
    labels: {
      code: {
        words: 'error codes of the fifty seen first, then other; unknown if the ledger returns none',
        first: ['other'],
      },
    },
  }),
  completionFailures: counter({
    name: 'completion_failures_total',
    help: 'Failed attempts to follow completions.',
    use: 'Growing while completions_followed is 0: see the log. The stream continues.',
  }),
};
