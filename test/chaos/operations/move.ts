/**
 * Kills `switch-participant`. The participants of the network return the same updates at different offsets. An indexer
 * is killed at random, and a command that is also killed at random switches it to another participant. There it is
 * started and killed again, and then switched back. In the end every row must exist once, as in a fresh index of the
 * participant.
 */
import { startDaemon, type Daemon } from '../../e2e/runs/daemon.ts';
import { brokenRules } from '../../history/rules.ts';
import { contentsOf, difference } from '../../switch-participant/contents.ts';
import { Network } from '../../switch-participant/network.ts';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import { pause, waitFor } from '../../support/wait-for.ts';
import { openChaosServer, schema, type ChaosDatabase } from '../databases.ts';
import type { OperationFigures, OperationOptions } from './operation.ts';

interface MoveFigures extends OperationFigures {
  readonly runs: number;
  readonly kills: number;
  readonly lost: number;
  readonly duplicated: number;
  readonly altered: number;
  /** Number of kills of the command, before and after it has switched the stream. */
  readonly commandKills: number;
  readonly moved: number;
  /** Number of times that a checkpoint lower than the previous one was observed. */
  readonly fell: number;
  /** Number of accepted switches to a participant with another history. Each of them should have been rejected. */
  readonly accepted: number;
  readonly [figure: string]: number;
}

/** Minimum number of kills, even if there are few runs. */
const minKills = 50;
const freshSchema = 'fresh';

export async function run({
  firstSeed,
  seeds,
  contracts,
  stepTimeoutMs,
  progress,
}: OperationOptions): Promise<MoveFigures> {
  await using server = await openChaosServer();
  const database = await server.lend();
  const network = await Network.open({ seed: 17, updates: contracts, travels: true });
  const otherNetwork = await Network.open({ seed: 18, participants: 3, updates: 200 });
  const moveTests = new Moves(database, { network, other: otherNetwork }, stepTimeoutMs);
  try {
    await moveTests.begin();
    const killsPerSeed = Math.max(3, Math.ceil(minKills / seeds));
    for (let run = 1; run <= seeds; run += 1) {
      await moveTests.once(new Random(firstSeed + run - 1), killsPerSeed);
      progress({ runs: run, ...moveTests.counts });
    }
    return { runs: seeds, ...(await moveTests.end()) };
  } finally {
    await network.close();
    await otherNetwork.close();
    database.giveBack();
  }
}

class Moves {
  readonly #database: ChaosDatabase;
  readonly #network: Network;
  readonly #other: Network;
  readonly #patienceMs: number;
  #participant = 0;
  #checkpoint = 0;
  readonly #counts = { kills: 0, commandKills: 0, moved: 0, fell: 0, accepted: 0 };

  constructor(
    database: ChaosDatabase,
    networks: { readonly network: Network; readonly other: Network },
    stepTimeoutMs: number,
  ) {
    this.#database = database;
    this.#network = networks.network;
    this.#other = networks.other;
    this.#patienceMs = stepTimeoutMs;
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  async begin(): Promise<void> {
    await this.#follow(schema);
  }

  /** Switches from one participant to the next, with this many kills. */
  async once(random: Random, maxKills: number): Promise<void> {
    const killsBefore = this.#counts.kills;
    await this.#followKilled(random);
    await this.#refuseOther();
    const next = (this.#participant + 1) % this.#network.participants.length;
    await this.#moveKilled(random, next);
    this.#participant = next;
    while (this.#counts.kills - killsBefore < maxKills) await this.#followKilled(random);
    await this.#look();
  }

  async end() {
    this.#network.settle();
    await this.#follow(schema);
    await this.#look();
    await this.#follow(freshSchema);
    const [storedIds, expected] = [await this.#contents(schema), await this.#contents(freshSchema)];
    const { lost: lostKeys, added: addedKeys } = difference(storedIds, expected);
    const ids = await this.#ids();
    const knownIds = new Set(ids);
    const missingIds = this.#network.updateIds.filter((id) => !knownIds.has(id)).length;
    const duplicatedCount = ids.length - knownIds.size;
    const changedCount = Math.max(0, Math.max(lostKeys.length, addedKeys.length) - missingIds - duplicatedCount);
    const brokenRuleIds = await brokenRules(this.#database.url, schema);
    for (const rule of brokenRuleIds) console.error(rule);
    return {
      lost: missingIds,
      duplicated: duplicatedCount,
      altered: changedCount + brokenRuleIds.length,
      ...this.#counts,
    };
  }

  #contents(schemaName: string): Promise<readonly string[]> {
    return contentsOf(this.#database.url, schemaName, 'hashed');
  }

  async #ids(): Promise<readonly string[]> {
    const { rows } = await this.#database.client.query<{ id: string }>(
      `select ${schema}.id_text(update_id) as id from ${schema}.updates`,
    );
    return rows.map(({ id }) => id);
  }

  #start(
    schemaName: string,
    argv: readonly string[] = [],
    network = this.#network,
    participant = this.#participant,
  ): Daemon {
    return startDaemon({
      ledgerUrl: network.participants[participant]?.url ?? '',
      databaseUrl: this.#database.url,
      schema: schemaName,
      argv,
      env: { LEDGER_INTERFACES: 'tokens', INDEXER_START: 'genesis', INDEXER_BATCH_UPDATES: '50', INDEXER_LEASE: '2s' },
    });
  }

  /** Runs the indexer until everything that the participant now returns is stored. */
  async #follow(schemaName: string): Promise<void> {
    await using daemon = this.#start(schemaName);
    const [newestUpdate] = this.#network.participants[this.#participant]?.ledger.range(0, Infinity, 1, true) ?? [];
    const isStored = async (): Promise<true | undefined> => {
      if (daemon.exit() !== undefined) throw new Error(`the daemon ended:\n${daemon.output().slice(-2_000)}`);
      const storedRows = await this.#database.client
        .query(
          `select from ${schemaName}.stream s join ${schemaName}.updates u on u."offset" <= s.checkpoint
            where ${schemaName}.id_text(u.update_id) = $1`,
          [newestUpdate?.updateId],
        )
        .catch(() => undefined);
      return (storedRows?.rowCount ?? 0) > 0 ? true : undefined;
    };
    await waitFor(`update ${newestUpdate?.updateId} is stored`, isStored, this.#patienceMs);
  }

  /** Runs the indexer during new traffic, and kills it after a random time, possibly before it has started. */
  async #followKilled(random: Random): Promise<void> {
    const daemon = this.#start(schema);
    const end = performance.now() + random.between(200, 2_500);
    while (performance.now() < end) {
      this.#network.happen(random.between(0, 6));
      await pause(random.between(5, 60));
    }
    await daemon.kill();
    this.#counts.kills += 1;
    if (daemon.output().includes('"msg":"parked')) throw new Error(`it parked:\n${daemon.output().slice(-2_000)}`);
    await this.#look();
  }

  /** Kills the command at a random time, or when it has verified the overlap. Then runs it again until it succeeds. */
  async #moveKilled(random: Random, participant: number): Promise<void> {
    const command = this.#start(schema, ['switch-participant', '--yes'], this.#network, participant);
    const end = performance.now() + random.between(100, 1_500);
    const isAtStep = random.chance(0.5);
    while (performance.now() < end && command.exit() === undefined) {
      if (isAtStep && command.output().includes('checkpoint ')) break;
      await pause(1);
    }
    if (command.exit() === undefined) {
      await command.kill();
      this.#counts.kills += 1;
      this.#counts.commandKills += 1;
    }
    await waitFor('the stream is moved', () => this.#moveOnce(participant), this.#patienceMs);
    this.#counts.moved += 1;
  }

  async #moveOnce(participant: number): Promise<true | undefined> {
    const command = this.#start(schema, ['switch-participant', '--yes'], this.#network, participant);
    const { code } = await command.exited;
    if (code === 0) return true;
    const output = command.output();
    // The participant lags behind, or the killed process still holds the writer lock.
    if (!/SWITCH_BEHIND|WRITER_ACTIVE/.test(output)) throw new Error(`the move failed:\n${output.slice(-2_000)}`);
    this.#network.happen(3);
    return undefined;
  }

  async #refuseOther(): Promise<void> {
    const command = this.#start(schema, ['switch-participant', '--yes'], this.#other, 2);
    const { code } = await command.exited;
    if (code === 0 || !/SWITCH_NO_OVERLAP|WRITER_ACTIVE/.test(command.output())) this.#counts.accepted += 1;
  }

  /** Reads the checkpoint that readers see, and counts whether it fell. */
  async #look(): Promise<void> {
    const { rows } = await this.#database.client.query<{ checkpoint: string | null }>(
      `select checkpoint from ${schema}.stream`,
    );
    const checkpoint = Number(rows[0]?.checkpoint ?? 0);
    if (checkpoint < this.#checkpoint) this.#counts.fell += 1;
    this.#checkpoint = checkpoint;
  }
}
