// Service `secrets` of docker-compose.yml: creates random passwords once, each readable only by the services that need
// it. Runs in the image of the indexer, which contains only Node.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const root = process.env.SECRETS_DIR ?? '/secrets';
let made = 0;

keep('postgres/password', () => process.env.POSTGRES_PASSWORD || random());
for (const role of ['migrator', 'writer', 'redactor', 'reader']) keep(`roles/${role}`, random);
keep('indexer/database-url', () => `postgres://ledger_migrator:${read('roles/migrator')}@postgres:5432/ledger`);
keep('grafana/reader', () => read('roles/reader'));
console.log(made === 0 ? 'the passwords exist' : `${made} secrets created`);

/** The services run under different accounts, so every account that can access the volume may read the file. */
function keep(name, content) {
  const file = `${root}/${name}`;
  if (existsSync(file)) return;
  writeFileSync(file, content(), { mode: 0o444, flag: 'wx' });
  made += 1;
}

function read(name) {
  return readFileSync(`${root}/${name}`, 'utf8');
}

function random() {
  return randomBytes(24).toString('base64url');
}
