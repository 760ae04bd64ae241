/**
 * `move`: goes on from another participant that hosts the same parties, once it is proven that both tell the same history.
 * Without `--yes` it only proves.
 */
import { type Config, loadConfig } from '../../config/config.ts';
import { IndexerError } from '../../errors/indexer-error.ts';
import type { Database } from '../../store/connection/database.ts';
import type { MovePlan } from '../../pipeline/host/plan-move.ts';
import { type Command, type Print, writing, yes } from '../command-line/command.ts';
import { asWriter, withStream, writerName } from '../database/maintenance.ts';

export const moveCommand: Command = {
  name: 'move',
  summary: 'go on from another participant that hosts the same parties; --yes to do it',
  does: [
    'LEDGER_URL names the other participant. Offsets differ there: what is stored keeps its own, what comes gets later ones.',
    'Refused unless updates, compared by their ids, prove that both have told the same.',
  ],
  operands: [],
  flags: [
    { name: 'participant', value: 'ID', doc: 'its id, where the user may not ask for it and the one before is known' },
    yes,
  ],
  examples: ['move', 'move --yes'],
  exits: writing,
  page: 'docs/history.md',
  /** @throws IndexerError MOVE_ errors, WRITER_ACTIVE, CONFIGURATION_INVALID, or what the ledger answers */
  run: async ({ given, env, stop, print }) => {
    const config = loadConfig(env, given.options);
    const named = given.text('participant');
    await withStream(config, given.has('yes') ? 'move --yes' : 'move', async (database) => {
      const proof = { config, database, stop, named };
      if (!given.has('yes')) {
        const proven = await prove(proof);
        for (const line of told(proven)) print(line);
        if (proven !== undefined) {
          print('nothing was changed; with the indexer stopped or parked, run: ledger-indexer move --yes');
        }
        return;
      }
      await asWriter(database, 'move --yes', () => move(proof, print));
    });
  },
};

interface Proof {
  readonly config: Config;
  readonly database: Database;
  readonly stop: AbortSignal;
  /** Id of the participant, as the operator gave it. */
  readonly named: string | undefined;
}

interface Proven extends MovePlan {
  readonly participantId: string | undefined;
  readonly former: string | null;
  readonly checkpoint: number;
  readonly epoch: number;
}

async function move(proof: Proof, print: Print): Promise<void> {
  const proven = await prove(proof);
  for (const line of told(proven)) print(line);
  if (proven === undefined) return;
  const { moveTo } = await import('../../store/history/hosts.ts');
  const { compared, from, participantId } = proven;
  const reason = `${String(compared)} updates up to its offset ${String(from)} were compared by their ids`;
  await moveTo(proof.database, { ...proven, reason, writer: writerName });
  const name = participantId ?? 'it';
  print(`done: a parked indexer goes on from ${name} within seconds, a stopped one when it is started`);
}

/** Undefined when the ledger is the participant that is read. */
async function prove({ config, database, stop, named }: Proof): Promise<Proven | undefined> {
  const { readStream } = await import('../../store/history/maintenance.ts');
  const { readHost } = await import('../../store/write/hosts.ts');
  const stream = await readStream(database);
  if (stream?.checkpoint === undefined || stream.checkpoint === null || !stream.seeded) {
    throw refused('nothing is published in this schema yet', 'start the indexer: it seeds from whatever it reads');
  }
  const { participantId: former, checkpoint, epoch } = stream;
  const { openMove } = await import('./move-parts.ts');
  const { asked, parts, identity } = await openMove(config, database, stop);
  if (identity.filterHash !== stream.filterHash) {
    throw refused(
      'the filter or shape differs from the one this schema was filled with',
      'move with the former one first; change it afterwards, or before the move',
    );
  }
  const participantId = asked ?? named;
  if (participantId === undefined && former !== null) {
    throw refused(
      `the user may not ask for the id of this participant; the one before is ${former}`,
      'name it: --participant ID (as ledger-indexer ledger node shows it to an administrator)',
    );
  }
  if (participantId !== undefined && participantId === former) return undefined;
  const { planMove } = await import('../../pipeline/host/plan-move.ts');
  const plan = await planMove(parts, checkpoint);
  const host = await readHost(database);
  // Without ids the offsets have to tell: those of another participant differ.
  if (participantId === undefined && plan.shift === (host?.shift ?? 0)) return undefined;
  return { ...plan, participantId, former, checkpoint, epoch };
}

function refused(found: string, remedy: string): IndexerError {
  return new IndexerError(found, { code: 'MOVE_REFUSED', remedy });
}

function told(proven: Proven | undefined): readonly string[] {
  if (proven === undefined) return ['the ledger is the participant that is read: nothing to do'];
  const { participantId, former, checkpoint, from, shift, compared, levels, common } = proven;
  const ahead = Object.entries(levels).map(
    ([id, offset]) =>
      `  what it shows of ${id} up to its offset ${String(offset - shift)} is stored already, and left out`,
  );
  return [
    `from participant ${former ?? '(not known)'} to participant ${participantId ?? '(not known)'}:`,
    `  ${String(compared)} updates there, up to update ${common.updateId}, are all stored here`,
    `  checkpoint ${String(checkpoint)} is its offset ${String(from)}: what comes from it gets its offset ` +
      `${shift < 0 ? 'minus' : 'plus'} ${String(Math.abs(shift))}`,
    ...ahead,
  ];
}
