// Checks the services of docker-compose.yml from outside: the indexer is ready, rows are added, the reader role can
// read and cannot write, Prometheus scrapes and has the alerts, and no alert fires. DATABASE_URL is that of the reader.
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';

const { INDEXER_URL, PROMETHEUS_URL, DATABASE_URL, GRAPHQL_URL } = process.env;
const database = new Client({ connectionString: DATABASE_URL });
await database.connect();

await until('the indexer is ready', async () => (await fetch(`${INDEXER_URL}/readyz`)).status === 200);
const before = await updates();
await until('rows are added', async () => (await updates()) > before);
await assert.rejects(database.query('delete from ledger.updates'), ({ code }) => code === '25006' || code === '42501');
const views = await database.query(
  `select count(*) filter (where schemaname = 'typed')::int as typed,
          array_agg(viewname::text) filter (where not has_table_privilege(format('%I.%I', schemaname, viewname), 'select')) as hidden
     from pg_views where schemaname in ('typed', 'explore', 'pqs')`,
);
const [{ typed, hidden }] = views.rows;
assert.equal(hidden, null, 'views that the reader may not read');
await database.end();
console.log(
  `ci: compose: ready, ${before} updates and more, ${typed} typed views; the reader reads all and writes nothing`,
);

if (GRAPHQL_URL !== undefined) {
  // Views that were created after GraphQL started. Its tags are generated once a minute, and then it restarts.
  const hasTyped = async () => {
    const query =
      '{ allExercisesList(first: 1) { update { offset } } allTypedSpliceAmuletAmuletsList(first: 1) { contractId } }';
    const body = JSON.stringify({ query });
    const answer = await fetch(GRAPHQL_URL, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { data } = await answer.json();
    return data?.allExercisesList[0]?.update.offset !== undefined && data.allTypedSpliceAmuletAmuletsList.length === 1;
  };
  await until('GraphQL has typed views and relations', hasTyped, 180);
  console.log('ci: compose: GraphQL responds');
}

await until(
  'Prometheus scrapes',
  async () => (await ask('query?query=up{job="ledger-indexer"}')).result[0]?.value[1] === '1',
);
const { groups } = await ask('rules?type=alert');
const alerts = groups.flatMap(({ rules }) => rules);
assert.ok(
  alerts.length > 20 && alerts.every(({ health }) => health !== 'err'),
  JSON.stringify(alerts.map(({ health }) => health)),
);
const firing = alerts.filter(({ state }) => state === 'firing').map(({ name }) => name);
assert.deepEqual(firing, []);
console.log(`ci: compose: Prometheus has ${alerts.length} alerts, none fires`);

async function updates() {
  const { rows } = await database.query('select count(*)::int as n from ledger.updates');
  return rows[0].n;
}

async function ask(path) {
  const answer = await fetch(`${PROMETHEUS_URL}/api/v1/${path}`);
  return (await answer.json()).data;
}

async function until(what, holds, seconds = 60) {
  for (const end = Date.now() + seconds * 1000; Date.now() < end; await setTimeout(500)) {
    if (await holds().catch(() => false)) return;
  }
  assert.fail(`not within ${seconds} s: ${what}`);
}
