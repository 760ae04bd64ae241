/**
 * Kills the indexer while it fills, invalidates and replaces five projections of users. After each kill, stored rows equal
 * their SELECTs, as run by `verify` and as plain SQL. In the end, the projections are complete.
 */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { Random } from '../../../packages/ledger-sandbox/src/wire/random.ts';
import type { Daemon } from '../../e2e/runs/daemon.ts';
import { query } from '../../support/database.ts';
import { pause, waitFor } from '../../support/wait-for.ts';
import { compareWithTexts } from './independent-rows.ts';
import { historyChanges, killRepeatedly, type Change } from '../kill-campaign.ts';
import { contentsSql, transfersSql, UserWorld } from './world.ts';

/** Number of SIGKILLs. `PROJECTION_KILLS=50 npx vitest run test/projections/users/kills.slow.test.ts` runs more. */
const kills = Number(process.env['PROJECTION_KILLS'] ?? 5);
/** Parties of the first filter, and how many each extension adds. */
const partiesPerExtension = 4;

/** The SELECTs, with the options with which they are added. */
const selects = {
  days: {
    text: `select e."offset", date_trunc('day', e.record_time) as day, e.template_fqn, count(*) as events
      from explore.events e where e."offset" > :from and e."offset" <= :to group by 1, 2, 3`,
    options: ['--key', 'template_fqn'],
  },
  ends: {
    text: `select e."offset", e.node_id, e.choice, c.contract_id, c.created_at_offset, c.payload
      from explore.events e join explore.contracts c on c.contract_id = e.contract_id
     where e.choice is not null and e."offset" > :from and e."offset" <= :to`,
    options: ['--index', 'contract_id'],
  },
  parties: {
    text: `select e."offset", e.node_id, e.template_fqn, p.party from explore.events e cross join unnest(e.parties) p (party)
     where e.event_type = 'created' and e."offset" > :from and e."offset" <= :to`,
    options: ['--party-column', 'party'],
  },
  transfers: { text: transfersSql, options: [] },
  contents: { text: contentsSql, options: ['--no-look-ups', '--key', 'node_id'] },
} as const;
type Name = keyof typeof selects;
const names = Object.keys(selects) as readonly Name[];

class UserKills {
  readonly user: UserWorld;
  readonly env: Readonly<Record<string, string>>;
  readonly texts = new Map<string, string>();
  readonly #random = new Random(23);
  #parties = partiesPerExtension;
  #changed = 0;

  constructor(user: UserWorld, env: Readonly<Record<string, string>>) {
    this.user = user;
    this.env = env;
  }

  async addAll(): Promise<void> {
    for (const name of names) await this.#add(name, selects[name].text);
  }

  get changes(): readonly Change[] {
    const { redact, reset, prune, invalidate, anotherSelect, nothing } = historyChanges(this.user.world, this.env);
    const live = (name: string, make: () => Promise<unknown>): Change => ({ name, isLive: true, make });
    return [
      redact,
      live('refill', () => this.#refill()),
      reset,
      live('changed SELECT', () => this.#changeSelect()),
      prune,
      live('filter extension', () => this.#extendFilter()),
      nothing,
      invalidate,
      anotherSelect,
    ];
  }

  /** Random times, and moments in which a range is read, stored, or replaces the previous version. */
  async moment(killCount: number, daemon: Daemon): Promise<void> {
    const { url } = this.user;
    if (killCount % 4 === 0) return pause(this.#random.between(0, 1_500));
    if (killCount % 4 === 1) return this.#whileRead();
    // The transaction that stores a range waits for the first lock, and the one that replaces a version for the second.
    const table = killCount % 4 === 2 ? await this.#newestTable() : 'ledger.user_projections';
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      await client.query(`begin; lock table ${table} in share mode`);
      await waitFor(`a transaction waits for ${table}`, () => this.#isWaitingFor(table), 90_000);
      await daemon.kill();
    } finally {
      await client.end();
    }
  }

  async #isWaitingFor(table: string): Promise<true | undefined> {
    // Without new updates, a complete projection stores nothing.
    if ((await this.uncovered()) === 0) this.user.world.grow(5);
    const waiting = await query(
      this.user.url,
      `select from pg_locks where relation = '${table}'::regclass and not granted`,
    );
    return waiting.length > 0 ? true : undefined;
  }

  /** Projections of which a version is not complete. Versions that were replaced do not count. */
  async uncovered(): Promise<number> {
    const { count } = await this.user.world.row(
      `select count(*)::int as count
         from ledger.user_projections u
         left join ledger.projections p on p.view_name = u.name and p.generation = u.generation
        cross join ledger.stream s
        where not u.is_retired
          and (p.name is null or not p.is_filled or p.outdated <> '{}' or exists (select from ledger.projection_changes)
               or not p.covered @> int8range(null, s.checkpoint, '(]'))`,
    );
    return Number(count);
  }

  #whileRead(): Promise<void> {
    return waitFor('a range is read', async () => {
      // On a fast machine, everything may be stored before the first look.
      if ((await this.uncovered()) === 0) this.user.world.grow(5);
      const reading = await query(
        this.user.url,
        `select from pg_stat_activity where datname = current_database() and state <> 'idle' and query like '%answer%'
            and pid <> pg_backend_pid()`,
      );
      return reading.length > 0 ? true : undefined;
    }).then(() => undefined);
  }

  async #newestTable(): Promise<string> {
    const name = names[this.#random.between(0, names.length - 1)] ?? 'days';
    return `derived."${name}$${String(await this.#newest(name))}"`;
  }

  async #newest(name: Name): Promise<number> {
    const { newest } = await this.user.world.row(
      `select max(generation) as newest from ledger.user_projections where name = '${name}'`,
    );
    return Number(newest);
  }

  async #add(name: Name, text: string): Promise<void> {
    await this.user.add(name, text, ...selects[name].options);
    this.texts.set(`${name}$${String(await this.#newest(name))}`, text);
  }

  async #refill(): Promise<void> {
    const name = names[this.#random.between(0, names.length - 1)] ?? 'days';
    const text = this.texts.get(`${name}$${String(await this.#newest(name))}`) ?? '';
    await this.user.projection('refill', name);
    this.texts.set(`${name}$${String(await this.#newest(name))}`, text);
  }

  /** Other amounts, with the same columns. */
  async #changeSelect(): Promise<void> {
    this.#changed += 1;
    const factor = String(this.#changed + 1);
    await this.#add('transfers', transfersSql.replace('t.amount,', `t.amount * ${factor} as amount,`));
    await this.#add('days', selects.days.text.replace('count(*) as', `count(*) * ${factor} as`));
  }

  async #extendFilter(): Promise<void> {
    this.#parties += partiesPerExtension;
    const parties = this.user.world.sandbox.ledger.localParties().slice(-this.#parties).join();
    await this.user.world.command('filter extend --yes --with-history --rate 500', 'ledger', {
      LEDGER_INTERFACES: 'tokens',
      INDEXER_START: 'genesis',
      LEDGER_PARTIES: parties,
    });
  }
}

describe(`five projections of users of an indexer that is killed ${String(kills)} times`, () => {
  it('equal their SELECTs after each kill', { timeout: 180_000 + kills * 30_000 }, async () => {
    let env: Readonly<Record<string, string>> = {};
    const user = await UserWorld.open(400, (parties) => {
      env = {
        LEDGER_INTERFACES: 'tokens',
        INDEXER_START: 'genesis',
        INDEXER_BATCH_UPDATES: '20',
        LEDGER_PARTIES: parties.slice(-partiesPerExtension).join(),
      };
      return env;
    });
    try {
      const campaign = new UserKills(user, env);
      await campaign.addAll();
      await killRepeatedly({
        world: user.world,
        env,
        kills,
        changes: campaign.changes,
        // A lock would delay the change.
        isLive: (killCount) => killCount % 4 < 2,
        moment: (killCount, daemon) => campaign.moment(killCount, daemon),
        uncovered: () => campaign.uncovered(),
        compare: async () => void (await compareWithTexts(user.url, campaign.texts, false)),
      });
      const counts = await compareWithTexts(user.url, campaign.texts, true);
      expect(Object.keys(counts)).toHaveLength(names.length);
      for (const [name, count] of Object.entries(counts))
        expect({ name, rows: count > 0 }).toEqual({ name, rows: true });
    } finally {
      await user.close();
    }
  });
});
