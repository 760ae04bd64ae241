/** What becomes of submitted commands? */
import { counter, gauge } from './description.ts';

export const completions = {
  completionsFollowed: gauge({
    name: 'completions_followed',
    help: '1 while completions are followed beside the stream.',
    use: '0 with INDEXER_COMPLETIONS=off, and where the participant does not show them to readers: /status says why.',
  }),
  completionCheckpoint: gauge({
    name: 'completion_checkpoint_offset',
    help: 'Offset up to which completions are stored; 0 while they are not followed.',
    use: 'checkpoint_offset minus it is what is still to come. A participant to which nothing is submitted tells its position about once a minute.',
  }),
  completionsStored: counter({
    name: 'completions_total',
    help: 'Completions stored, by what became of the command.',
    use: 'rate() of rejected over rate() of both: the share of commands that fail.',
    labels: { result: ['accepted', 'rejected'] },
  }),
  rejectedCommands: counter({
    name: 'rejected_commands_total',
    help: "Rejected commands, by the ledger's error code.",
    use: 'Which errors they are; explore.rejected_commands has each with its reason.',
    labels: {
      code: { words: 'error codes of the fifty seen first, then other; unknown where none is told', first: ['other'] },
    },
  }),
  completionFailures: counter({
    name: 'completion_failures_total',
    help: 'Times completions could not be followed and were tried again.',
    use: 'Rising while completions_followed is 0: the log says why. The stream goes on without them.',
  }),
};
