/**
 * Runs every subcommand of `ledger-indexer ledger` against a sandbox over real sockets, and one subcommand with the
 * built program.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../packages/ledger-sandbox/src/demo/sandbox.ts';
import type { Sandbox } from '../../packages/ledger-sandbox/src/server/sandbox.ts';
import { generateHistory } from '../../packages/ledger-sandbox/src/demo/traffic.ts';
import { compiled, darOf } from '../../packages/ledger-sandbox/test/packages/dars.ts';
import { secret, sharedSigner, startSecured } from '../../packages/ledger-sandbox/test/identity/callers.ts';
import { stopClock } from '../support/chance/clock.ts';
import { expiresIn, token } from '../support/tokens.ts';
import { waitFor } from '../support/wait-for.ts';
import { assertBuilt } from '../e2e/runs/daemon.ts';
import {
  run as runVerb,
  start as startVerb,
  type CapturedOutput,
  type RunningVerb,
  type RunOptions,
} from './verb-run.ts';

let sandbox: Sandbox;
let folder: string;
beforeEach(async () => {
  sandbox = await startSandbox({ seed: 11, limits: { checkpointIntervalMs: 50 } });
  folder = await mkdtemp(join(tmpdir(), 'ledger-verbs-'));
});
afterEach(async () => {
  await sandbox.close();
  await rm(folder, { recursive: true });
});

type Options = Partial<RunOptions>;

function start(argv: readonly string[], options: Options = {}): RunningVerb {
  return startVerb(argv, { env: { LEDGER_URL: sandbox.url }, ...options });
}

function run(argv: readonly string[], options: Options = {}): Promise<CapturedOutput> {
  return runVerb(argv, { env: { LEDGER_URL: sandbox.url }, ...options });
}

async function rows(...argv: string[]): Promise<unknown[]> {
  return (await run(argv)).rows;
}

async function alice(): Promise<string> {
  const parties = (await rows('parties')) as { readonly party: string }[];
  return parties.find(({ party }) => party.startsWith('alice::'))?.party ?? '';
}

/** Commands as JSON that create an Iou of Alice. */
async function iou(commandId: string): Promise<string> {
  const party = await alice();
  const createArguments = { issuer: party, owner: party, currency: 'USD', amount: '1.0', observers: [] };
  const command = { CreateCommand: { templateId: '#model-tests:Iou:Iou', createArguments } };
  return JSON.stringify({ userId: 'ops', commandId, actAs: [party], commands: [command] });
}

const offsetOf = (row: unknown): number =>
  Object.values((row as { update: Record<string, { value: { offset: number } }> }).update)[0]?.value.offset ?? -1;

describe('ledger version and ledger end', () => {
  it('print one JSON object in a pipe and aligned lines on a terminal', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 20 });
    expect((await rows('version'))[0]).toMatchObject({ version: '3.5.10' });
    const end = (await rows('end'))[0];
    const { participantId } = sandbox;
    expect(end).toMatchObject({ offset: sandbox.ledger.ledgerEnd(), participantPrunedUpToInclusive: 0, participantId });
    const { text } = await run(['end'], { isTTY: true });
    expect(text).toContain(`ledger end    ${String(sandbox.ledger.ledgerEnd())}\n`);
    expect(text.match(/^synchronizer {2}/gm)).toHaveLength(2);
    expect((await run(['end', '--json'], { isTTY: true })).rows).toEqual([end]);
    expect((await run(['openapi'])).text).toMatch(/^openapi: 3/);
    expect((await run(['asyncapi'])).text).toMatch(/^asyncapi: /);
  });
});

describe('ledger upload-dar and ledger packages', () => {
  it('upload a DAR, then list and download its package', async () => {
    const source = { name: 'harbor-notes', version: '2.0.0', templates: ['Note'] };
    const { id, payload, archive } = compiled(source);
    const file = join(folder, 'notes.dar');
    await writeFile(file, darOf({ 'harbor-notes-2.0.0.dalf': archive }));
    expect(await rows('upload-dar', file)).toEqual([{ packageId: id }]);
    expect(await rows('upload-dar', file)).toEqual([]);
    const row = { packageId: id, packageStatus: 'PACKAGE_STATUS_REGISTERED' };
    const expectedRow = { ...row, packageName: 'harbor-notes', packageVersion: '2.0.0' };
    expect(await rows('packages')).toContainEqual(expectedRow);
    expect(await rows('packages', id)).toEqual([expectedRow]);
    const saved = join(folder, 'notes.dalf');
    expect(await rows('packages', id, '--output', saved)).toEqual([
      { packageId: id, file: saved, bytes: payload.length, hash: id },
    ]);
    expect((await readFile(saved)).equals(payload)).toBe(true);
  });

  it('reject an invalid DAR with a remedy, and a missing DAR file', async () => {
    const file = join(folder, 'broken.dar');
    await writeFile(file, 'no zip');
    await expect(run(['upload-dar', file])).rejects.toMatchObject({
      code: 'LEDGER_REQUEST_INVALID',
      remedy: expect.stringContaining('correct the DAR') as string,
    });
    const missingDarRun = run(['upload-dar', join(folder, 'none.dar')]);
    await expect(missingDarRun).rejects.toMatchObject({ code: 'FILE_UNUSABLE', exitCode: 78 });
  });
});

describe('ledger acs, updates and update', () => {
  beforeEach(() => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 900 });
  });

  it('print more than 200 rows, which is the limit of HTTP lists', async () => {
    const contracts = await rows('acs');
    expect(contracts.length).toBeGreaterThan(200);
    expect(contracts[0]).toHaveProperty('contractEntry.JsActiveContract.createdEvent.contractId');
    const updates = await rows('updates');
    expect(updates.length).toBeGreaterThan(800);
    expect(offsetOf(updates.at(-1))).toBeLessThanOrEqual(sandbox.ledger.ledgerEnd());
    expect(updates.map(offsetOf)).toEqual(updates.map(offsetOf).toSorted((a, b) => a - b));
  });

  it('filter by offset, template, party and limit', async () => {
    expect(await rows('acs', '--limit', '7')).toHaveLength(7);
    expect((await rows('acs', '--at', '30')).length).toBeLessThan(60);
    const template = '#harbor-stablecoin:Harbor.StableCoin:Token';
    const tokens = (await run(['acs', '--template', template])).text.trimEnd().split('\n');
    expect(tokens.every((line) => line.includes(':Harbor.StableCoin:Token"'))).toBe(true);
    const party = await alice();
    const partyContracts = (await run(['acs', '--party', party])).text.trimEnd().split('\n');
    expect(partyContracts.length).toBeLessThan((await rows('acs')).length);
    expect(partyContracts.every((line) => line.includes(party))).toBe(true);
    const offsets = (await rows('updates', '--from', '100', '--to', '120')).map(offsetOf);
    expect(Math.min(...offsets)).toBeGreaterThan(100);
    expect(Math.max(...offsets)).toBeLessThanOrEqual(120);
    expect(await rows('updates', '--from', '100', '--limit', '3')).toHaveLength(3);
  });

  it('print aligned columns with shortened ids for --table, also in a pipe', async () => {
    const lines = (await run(['updates', '--table', '--limit', '40'])).text.trimEnd().split('\n');
    const column = lines[0]?.indexOf('CONTRACT') ?? -1;
    expect(lines[1]?.slice(column)).toMatch(/^00[0-9a-f]{10}…[0-9a-f]{6} {2}\S/);
    expect(lines[1]).toMatch(/ {2}#[a-z-]+:\S+$/);
    expect((await run(['acs', '--limit', '2'], { isTTY: true })).text).toMatch(/^CONTRACT +STATE/);
  });

  it('print new updates with --follow until the command stops', async () => {
    const stop = new AbortController();
    const end = sandbox.ledger.ledgerEnd();
    const { stdout, done: whenDone } = start(['updates', '--follow'], { stop: stop.signal });
    await waitFor('new updates in the output', () => {
      generateHistory(sandbox.ledger, { seed: 3, updates: 1 });
      return stdout.rows.length > 30 ? true : undefined;
    });
    stop.abort();
    await whenDone;
    expect(stdout.rows.map(offsetOf).every((offset) => offset > end)).toBe(true);
    expect(stdout.text).not.toContain('OffsetCheckpoint');
  });

  it('continue with the next token when a token expires, without gaps or duplicates', async () => {
    await using securedSandbox = await startSecured();
    const file = join(folder, 'token');
    const clock = stopClock();
    await writeFile(file, await token(sharedSigner, { exp: expiresIn(1_200) }));
    const stop = new AbortController();
    const env = { LEDGER_URL: securedSandbox.url, LEDGER_TOKEN_FILE: file };
    const { stdout, done: whenDone } = start(['updates', '--follow', '--from', '0'], { env, stop: stop.signal });
    generateHistory(securedSandbox.ledger, { seed: 2, updates: 5 });
    await waitFor('the first updates', () => (stdout.rows.length > 2 ? true : undefined));
    const endBefore = securedSandbox.ledger.ledgerEnd();
    await writeFile(file, await token(sharedSigner));
    clock.advance(1_500);
    await waitFor('updates behind the end of the first token', () => {
      generateHistory(securedSandbox.ledger, { seed: 3, updates: 1 });
      return offsetOf(stdout.rows.at(-1)) > endBefore + 5 ? true : undefined;
    });
    stop.abort();
    await whenDone;
    const offsets = stdout.rows.map(offsetOf);
    const { done: whenUpdatesDone, stdout: output } = start(['updates', '--to', String(offsets.at(-1))], { env });
    await whenUpdatesDone;
    expect(offsets).toEqual(output.rows.map(offsetOf));
  });

  it('exit with 75 when a signal interrupts the command', async () => {
    const stop = new AbortController();
    stop.abort();
    await expect(run(['acs'], { stop: stop.signal })).rejects.toMatchObject({ code: 'INTERRUPTED', exitCode: 75 });
  });

  it('exit with 0 when the reader closes the pipe', async () => {
    const followRun = run(['updates', '--follow', '--from', '0'], { writes: 1 });
    await expect(followRun).rejects.toMatchObject({ code: 'OUTPUT_CLOSED', exitCode: 0 });
  });

  it('print a single update by offset or by id, and reject an unknown offset', async () => {
    const [first] = await rows('updates', '--limit', '1');
    const offset = offsetOf(first);
    expect(await rows('update', String(offset))).toEqual([first]);
    const id = /"updateId":"(\w+)"/.exec(JSON.stringify(first))?.[1] ?? '';
    expect(await rows('update', id)).toEqual([first]);
    await expect(run(['update', '999999999'])).rejects.toMatchObject({ code: 'UPDATE_NOT_FOUND', exitCode: 65 });
  });

  it('fail if --from is after the ledger end or before the pruned offset', async () => {
    await expect(run(['updates', '--from', '999999999'])).rejects.toMatchObject({
      code: 'LEDGER_OFFSET_AFTER_END',
      remedy: expect.stringContaining('ledger end') as string,
    });
    sandbox.ledger.pruneTo(200);
    await expect(run(['updates', '--from', '1'])).rejects.toMatchObject({ code: 'LEDGER_PRUNED' });
    expect(offsetOf((await rows('updates'))[0])).toBeGreaterThan(200);
  });
});

describe('ledger submit and completions', () => {
  it('submit commands from a file or standard input, and print the completions', async () => {
    generateHistory(sandbox.ledger, { seed: 2, updates: 20 });
    const endBefore = sandbox.ledger.ledgerEnd();
    const file = join(folder, 'commands.json');
    await writeFile(file, await iou('one'));
    const [submittedRow] = await rows('submit', file);
    expect(submittedRow).toMatchObject({ completionOffset: sandbox.ledger.ledgerEnd() });
    const second = await run(['submit', '-', '--for-transaction'], { stdin: await iou('two') });
    expect(second.rows[0]).toMatchObject({ events: [{ CreatedEvent: { packageName: 'model-tests' } }] });
    const asyncSubmit = await run(['submit', '-', '--async'], { stdin: await iou('three') });
    expect(asyncSubmit.rows).toEqual([{ commandId: 'three' }]);
    const ids = (lines: readonly unknown[]): unknown[] =>
      lines.map((line) => /"commandId":"(\w+)"/.exec(JSON.stringify(line))?.[1]);
    expect(ids(await rows('completions', '--party', await alice(), '--from', String(endBefore)))).toEqual([
      'one',
      'two',
      'three',
    ]);
    const completionArgs = ['completions', '--party', await alice(), '--user', 'ops'];
    const { completionOffset } = submittedRow as { completionOffset: number };
    expect(ids(await rows(...completionArgs, '--from', String(completionOffset)))).toEqual(['two', 'three']);
    expect(ids(await rows(...completionArgs, '--follow', '--from', '0', '--limit', '1'))).toEqual(['one']);
    expect((await run([...completionArgs, '--table'])).text).toMatch(/^ +\d+ {2}accepted +one +ops +alice::/m);
  });

  it('reject commands that are incomplete or would lose digits, and send nothing', async () => {
    const endBefore = sandbox.ledger.ledgerEnd();
    const commandsJson = await iou('one');
    for (const stdin of [
      '{',
      '[]',
      commandsJson.replace('"one"', '""'),
      commandsJson.replace('"1.0"', '0.12345678901234567'),
    ]) {
      await expect(run(['submit', '-'], { stdin })).rejects.toMatchObject({ code: 'COMMANDS_INVALID', exitCode: 65 });
    }
    expect(sandbox.ledger.ledgerEnd()).toBe(endBefore);
    expect(
      (await run(['submit', '-'], { stdin: commandsJson.replace('"ops"', '"0.12345678901234567"') })).rows,
    ).toHaveLength(1);
  });
});

describe('ledger rights', () => {
  it('prints the rights of the token user, and needs ParticipantAdmin for other users', async () => {
    await using securedSandbox = await startSecured({
      secret,
      users: [{ id: 'alice', rights: [{ kind: 'CanReadAsAnyParty' }] }],
    });
    const env = { LEDGER_URL: securedSandbox.url, LEDGER_TOKEN: await token(sharedSigner) };
    expect((await run(['rights'], { env })).rows).toEqual([{ kind: { CanReadAsAnyParty: { value: {} } } }]);
    expect((await run(['rights', '--table'], { env })).text).toBe('RIGHT              PARTY\nCanReadAsAnyParty\n');
    await expect(run(['rights', 'participant_admin'], { env })).rejects.toMatchObject({
      code: 'LEDGER_PERMISSION_DENIED',
      remedy: expect.stringContaining('ParticipantAdmin') as string,
    });
    expect((await run(['end'], { env })).rows[0]).toMatchObject({ offset: 0, participantId: null });
    await expect(run(['end'], { env: { LEDGER_URL: securedSandbox.url } })).rejects.toMatchObject({ exitCode: 77 });
  });
});

describe('built program', () => {
  it('runs ledger version', async () => {
    assertBuilt();
    const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const child = spawn(process.execPath, [program, 'ledger', 'version'], {
      env: { PATH: process.env['PATH'], LEDGER_URL: sandbox.url },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, output.slice(0, 20)]).toEqual([0, '{"version":"3.5.10",']);
  });

  it('exits with 0 and prints no error when the reader closes its output pipe', async () => {
    const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
    const child = spawn(process.execPath, [program, 'config'], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, errors]).toEqual([0, '']);
  });
});
