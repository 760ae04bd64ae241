// Service `setup` of docker-compose.yml: migrates the tables to this version and sets the passwords of the roles from
// service `secrets`. It runs at every start, so that new tables get their grants. No other service uses the superuser's
// password.
import { spawnSync } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

const program = '/app/dist/main.js';

if (!process.env.LEDGER_URL && !(await sandboxIsThere())) {
  console.error('no ledger: set LEDGER_URL, or start with `docker compose --profile demo up`');
  process.exit(78);
}
const password = readFileSync('/secrets/postgres/password', 'utf8').replace(/\n$/, '');
const databaseUrl = `postgres://postgres:${encodeURIComponent(password)}@postgres:5432/ledger`;
run('migrate');
run('grant-roles', '--password-dir', '/secrets/roles');

/** Containers start concurrently, so the name may not resolve at first. */
async function sandboxIsThere() {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    try {
      await lookup('sandbox');
      return true;
    } catch {
      await setTimeout(500);
    }
  }
  return false;
}

function run(...words) {
  const { PATH, INDEXER_EXERCISE_JSON } = process.env;
  const env = { PATH, DATABASE_URL: databaseUrl, INDEXER_EXERCISE_JSON };
  const { status } = spawnSync(process.execPath, [program, ...words], { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
