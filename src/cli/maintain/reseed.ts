/**
 * `reseed`: reads the active contracts again. Stored history stays, and the gap since the checkpoint is recorded.
 * Without `--yes` it only prints the plan.
 */
import { loadConfig, type Config } from '../../config/config.ts';
import type { PipelineParts } from '../../pipeline/ports/parts.ts';
import type { Database } from '../../store/connection/database.ts';
import type { ReseedResult, ReseedPlan } from '../../pipeline/reseed.ts';
import { writeExitCodes, yesFlag, type Command, type PrintLine } from '../command-line/command.ts';
import { withWriterLock, openStream, withStream, writerName } from '../database/maintenance.ts';

export const reseedCommand: Command = {
  name: 'reseed',
  summary: 'read the active contracts again; keep history and record the gap',
  does: [
    'For a participant that was pruned past the checkpoint, or for another filter with the contracts active under it.',
    'Ends the contracts that are no longer active, adds those that are new, and records the gap in table coverage. Run it',
    'with the indexer stopped or parked. To delete the stored history instead: reset --all.',
  ],
  operands: [],
  flags: [yesFlag],
  examples: ['reseed', 'reseed --yes'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/recover-history.md',
  /**
   * @throws IndexerError RESEED_REFUSED, HISTORY_CHANGED, WRITER_ACTIVE, CONFIGURATION_INVALID and errors of the ledger
   */
  run: async ({ args, env, stop, print }) => {
    const request = { config: loadConfig(env, args.options), yes: args.has('yes'), stop };
    const { reseedParts } = await import('./reseed-parts.ts');
    await withStream(request.config, request.yes ? 'reseed --yes' : 'reseed', async (database) => {
      const { parts, close } = await reseedParts(request.config, database, stop);
      try {
        await reseedStream(await withSwitchedOffsets(parts, database), database, request, print);
      } finally {
        close();
      }
    });
  },
};

/** If the stream was switched to this participant, converts the participant's offsets to those of the stream. */
async function withSwitchedOffsets(parts: PipelineParts, database: Database): Promise<PipelineParts> {
  const { withParticipantOffsets } = await import('../../pipeline/participant/with-participant-offsets.ts');
  const { readParticipant } = await import('../../store/write/participants.ts');
  return withParticipantOffsets(parts, await readParticipant(database));
}

interface ReseedRequest {
  readonly config: Config;
  /** Whether to make the change; otherwise the plan is printed. */
  readonly yes: boolean;
  readonly stop: AbortSignal;
}

async function reseedStream(
  parts: PipelineParts,
  database: Database,
  { config, yes: isConfirmed }: ReseedRequest,
  print: PrintLine,
): Promise<void> {
  const { planReseed, reseed } = await import('../../pipeline/reseed.ts');
  const { readStanding: readExistingStream } = await import('../../store/history/participants.ts');
  const { postgresStaging } = await import('../../store/postgres-sink.ts');
  const command = 'reseed --yes';
  if (!isConfirmed) {
    for (const line of planned(await planReseed(parts, await readExistingStream(database)))) print(line);
    print(`nothing was changed; with the indexer stopped or parked, run: ledger-indexer ${command}`);
    return;
  }
  const { stagingSchema } = await import('../../store/history/staging.ts');
  const staging = await openStream(config, 'reseed', stagingSchema(database.schema, 'reseed'));
  try {
    const reseedResult = await withWriterLock(database, command, async () => {
      const plan = await planReseed(parts, await readExistingStream(database));
      for (const line of planned(plan)) print(line);
      const { notify } = config.indexer;
      const stagingStore = postgresStaging(database, staging, { writer: writerName, notify });
      return { ...(await reseed(parts, stagingStore, plan)), checkpoint: plan.checkpoint };
    });
    for (const line of summaryLines(reseedResult)) print(line);
  } finally {
    await staging.close();
  }
}

function planned({ checkpoint, ledgerEnd, pruned, reason }: ReseedPlan): readonly string[] {
  const facts = `checkpoint ${String(checkpoint)}, ledger end ${String(ledgerEnd)}, pruned up to ${String(pruned)}: ${reason}`;
  if (pruned <= checkpoint) {
    return [
      facts,
      'the active contracts are read at the checkpoint, so that no update is missed:',
      '  contracts active only here are recorded as ended at the checkpoint',
      '  contracts active only there are added with origin "seed"',
    ];
  }
  return [
    facts,
    `the active contracts are read at ${String(pruned)}, or at the ledger end if the participant does not return them there;`,
    `updates after ${String(checkpoint)} and up to there stay unknown:`,
    '  contracts active only here ended in this gap, and are recorded as ended at its end',
    '  contracts active only there are added with origin "seed"',
  ];
}

function summaryLines(result: ReseedResult & { readonly checkpoint: number }): readonly string[] {
  const { kept, ended, added, offset, checkpoint } = result;
  const hasGap = offset > checkpoint;
  const endedText = hasGap ? `ended in the gap, which is ${String(checkpoint + 1)} to ${String(offset)}` : 'ended';
  return [
    `done: ${String(kept)} contracts are active as before, ${String(ended)} ${endedText}, ${String(added)} are new`,
    `${hasGap ? 'the gap' : 'the range that begins here'} is recorded in table coverage; a parked indexer follows from ` +
      `${String(offset)} within seconds, a stopped one when it is started`,
  ];
}
