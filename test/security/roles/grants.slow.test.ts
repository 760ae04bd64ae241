/** The requirements of `grant-roles`, and a writer to which an earlier version granted rights. */
import { execFile } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { waitFor } from '../../support/wait-for.ts';
import { startReceiver } from '../../webhooks/receiver.ts';
import { RolesWorld } from './world.ts';

let world: RolesWorld;
beforeAll(async () => {
  world = await RolesWorld.open();
  await world.succeeds('administrator', ['grant-reader', world.served]);
});
afterAll(() => world[Symbol.asyncDispose]());

it('grant-roles rejects a folder without passwords, and prints a command that creates them', async () => {
  const folder = join(world.folder, "of the night's shift");
  const args = ['grant-roles', ...world.named, '--password-dir', folder];
  const { code, stderr } = await world.run('administrator', args);
  expect(code).toBe(2);
  expect(stderr).toContain(`${folder} has none of the files migrator, writer, redactor, reader`);
  const command = /create them first: (\(.*\))/.exec(stderr)?.[1] ?? '';
  await promisify(execFile)('sh', ['-c', command]);
  writeFileSync(join(folder, 'writer'), '\n');
  const empty = await world.run('administrator', [...args, '--dry-run']);
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining(`${join(folder, 'writer')} is empty`)]);
  writeFileSync(join(folder, 'writer'), 'of-the-writer');
  await world.succeeds('administrator', [...args, '--dry-run']);
  for (const kind of ['migrator', 'writer', 'redactor', 'reader']) {
    expect(statSync(join(folder, kind)).mode & 0o777, kind).toBe(0o600);
  }
});

it('webhook delivery continues if the writer may not store the reason of a failure', async () => {
  await world.query(`revoke update (problem, problem_at) on ledger.webhooks from ${world.prefix}_writer`);
  await using receiver = await startReceiver();
  receiver.name = 'told';
  const args = ['webhook', 'add', 'told', '--url', `${receiver.url}/told`, '--role', world.served, '--after', '0'];
  const { stdout } = await world.succeeds('administrator', args);
  receiver.secret = /whsec_\S+/.exec(stdout)?.[0] ?? '';
  let isUnreachable = true;
  receiver.reply = () => ({ status: isUnreachable ? 503 : 204 });
  await using indexer = await world.live('writer', { INDEXER_WEBHOOK_NETWORKS: 'loopback' });
  // The writer stores the reason every half second, so several times during these attempts, whose delays grow.
  await waitFor('it has been tried four times', () => (receiver.heard.length >= 4 ? true : undefined));
  isUnreachable = false;
  const [last] = await world.query(
    'select "offset" || \'-\' || node_id as place from explore.events order by "offset" desc, node_id desc limit 1',
  );
  await waitFor('the last event is taken', () =>
    receiver.taken.find(({ place: position }) => position === last?.['place']),
  );
  expect(indexer.log.filter((line) => line.includes('webhook: local failure'))).toEqual([]);
  await world.succeeds('migrator', ['webhook', 'remove', 'told']);
});
