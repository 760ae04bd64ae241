/**
 * `switch-participant`: continues from another participant that hosts the same parties, after both are verified to have
 * the same history. Without `--yes` it only verifies.
 */
import { type Config, loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import type { SwitchPlan } from '../../pipeline/participant/plan-switch.ts';
import { type Command, type PrintLine, writeExitCodes, yesFlag } from '../command-line/command.ts';
import { withWriterLock, withStream, writerName } from '../database/maintenance.ts';

export const switchParticipantCommand: Command = {
  name: 'switch-participant',
  summary: 'continue from another participant that hosts the same parties',
  does: [
    'LEDGER_URL names the other participant. Its offsets differ: stored rows keep theirs, new rows get later ones.',
    'Fails unless the update ids prove that both participants have the same history. Without --yes it only compares.',
  ],
  operands: [],
  flags: [
    {
      name: 'participant',
      value: 'ID',
      doc: 'its id, if the user may not read it and the previous id is known',
    },
    yesFlag,
  ],
  examples: ['switch-participant', 'switch-participant --yes'],
  exits: writeExitCodes,
  page: 'docs/how-to/change/switch-participant.md',
  /** @throws IndexerError SWITCH_ errors, WRITER_ACTIVE, CONFIGURATION_INVALID and errors of the ledger */
  run: async ({ args, env, stop, print }) => {
    const config = loadConfig(env, args.options);
    const requestedParticipant = args.text('participant');
    await withStream(config, args.has('yes') ? 'switch-participant --yes' : 'switch-participant', async (database) => {
      const verification = { config, database, stop, named: requestedParticipant };
      if (!args.has('yes')) {
        const verifiedPlan = await verifySwitch(verification);
        for (const line of switchLines(verifiedPlan)) print(line);
        if (verifiedPlan !== undefined) {
          print(
            'nothing was changed; with the indexer stopped or parked, run: ledger-indexer switch-participant --yes',
          );
        }
        return;
      }
      await withWriterLock(database, 'switch-participant --yes', () => switchParticipant(verification, print));
    });
  },
};

interface SwitchVerification {
  readonly config: Config;
  readonly database: Database;
  readonly stop: AbortSignal;
  /** Id of the participant on the command line; undefined if it is omitted. */
  readonly named: string | undefined;
}

interface VerifiedSwitch extends SwitchPlan {
  readonly participantId: string | undefined;
  readonly previousParticipantId: string | null;
  readonly checkpoint: number;
  readonly epoch: number;
}

async function switchParticipant(verification: SwitchVerification, print: PrintLine): Promise<void> {
  const verifiedPlan = await verifySwitch(verification);
  for (const line of switchLines(verifiedPlan)) print(line);
  if (verifiedPlan === undefined) return;
  const { switchTo } = await import('../../store/history/participants.ts');
  const { compared, from, participantId } = verifiedPlan;
  const reason = `${String(compared)} updates up to its offset ${String(from)} were compared by their ids`;
  await switchTo(verification.database, { ...verifiedPlan, reason, writer: writerName });
  const name = participantId ?? 'it';
  print(`done: a parked indexer continues from ${name} within seconds, a stopped one when it is started`);
}

/** The verified change; undefined if the ledger is already the indexed participant. */
async function verifySwitch({
  config,
  database,
  stop,
  named: requestedParticipant,
}: SwitchVerification): Promise<VerifiedSwitch | undefined> {
  const { readStream } = await import('../../store/history/maintenance.ts');
  const { readParticipant } = await import('../../store/write/participants.ts');
  const stream = await readStream(database);
  if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
    throw refusalError(
      'nothing is published in this schema yet',
      'start the indexer, which seeds the schema: ledger-indexer run',
    );
  }
  const { participantId: previousParticipantId, checkpoint, epoch } = stream;
  const { openSwitch } = await import('./switch-parts.ts');
  const { asked: request, parts, identity } = await openSwitch(config, database, stop);
  if (identity.filterHash !== stream.filterHash) {
    throw refusalError(
      'the filter or shape differs from the one this schema was filled with',
      'set the LEDGER_* filter options and LEDGER_SHAPE to the stored ones for the switch; change them afterwards, or before it',
    );
  }
  const participantId = request ?? requestedParticipant;
  if (participantId === undefined && previousParticipantId !== null) {
    throw refusalError(
      `the user may not read the id of this participant; the previous participant is ${previousParticipantId}`,
      'pass it with --participant ID (an administrator reads it with: ledger-indexer ledger end)',
    );
  }
  if (participantId !== undefined && participantId === previousParticipantId) return undefined;
  const { planSwitch } = await import('../../pipeline/participant/plan-switch.ts');
  const plan = await planSwitch(parts, checkpoint);
  const range = await readParticipant(database);
  // If the id is unknown, the offsets decide: another participant has other offsets.
  if (participantId === undefined && plan.shift === (range?.shift ?? 0)) return undefined;
  return { ...plan, participantId, previousParticipantId, checkpoint, epoch };
}

function refusalError(message: string, remedy: string): IndexerError {
  return new IndexerError(message, { code: 'SWITCH_REFUSED', remedy });
}

function switchLines(verifiedPlan: VerifiedSwitch | undefined): readonly string[] {
  if (verifiedPlan === undefined) return ['the ledger is the indexed participant: nothing to do'];
  const { participantId, previousParticipantId, checkpoint, from, shift, compared, overlaps, common } = verifiedPlan;
  const aheadLines = Object.entries(overlaps).map(
    ([id, offset]) => `  updates of ${id} up to its offset ${String(offset - shift)} are already stored and skipped`,
  );
  return [
    `from participant ${previousParticipantId ?? '(unknown)'} to participant ${participantId ?? '(unknown)'}:`,
    `  ${String(compared)} of its updates, up to update ${common.updateId}, are all stored`,
    `  checkpoint ${String(checkpoint)} is its offset ${String(from)}: new updates get its offset ` +
      `${shift < 0 ? 'minus' : 'plus'} ${String(Math.abs(shift))}`,
    ...aheadLines,
  ];
}
