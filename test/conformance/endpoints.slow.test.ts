/**
 * Calls every endpoint of the client and provokes every rejection that it can receive. Checks the result of the client,
 * and that the response matches the descriptions that the participant publishes. Runs against a sandbox of each
 * release. If LEDGER_URL is set, it also runs against that participant, with read-only calls.
 */
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { IndexerError } from '../../src/errors/indexer-error.ts';
import type { Faults } from '../../packages/ledger-sandbox/src/faults/faults.ts';
import { releases, type Release } from '../../packages/ledger-sandbox/src/wire/release.ts';
import { node, packages, parties, users } from '../ledger/api/calls-manage.ts';
import { state, updates } from '../ledger/api/calls-read.ts';
import { interactive, submission } from '../ledger/api/calls-submit.ts';
import { responseCheck } from './answer-check.ts';
import { expectedOf, type OutcomeName } from './outcomes.ts';
import { requiredKeys } from './required.ts';
import type { Row } from './rows/row.ts';
import { cases, rows } from './table.ts';
import { joinWorld, MissingOperation, startWorld, type World } from './world.ts';
import { needs } from '../support/skips/needs.ts';

const url = process.env['LEDGER_URL'];
const check = responseCheck(cases.map(({ operation }) => operation));

const needsSandbox = url === undefined ? undefined : 'needs the sandbox: LEDGER_URL is set';

/** Rows that have passed, as `operation outcome`. */
const coveredOperations = new Set<string>();
/** Number of skipped rows, by reason. */
const skippedCounts = new Map<string, number>();

function skip(context: TestContext, reason: string): never {
  skippedCounts.set(reason, (skippedCounts.get(reason) ?? 0) + 1);
  return context.skip(reason);
}

function nameOf({ operation, outcome, how: variant, as: user }: Row): string {
  return `${operation}: ${outcome}${variant === '' ? '' : ` (${variant})`}${outcome === '403' ? ` as ${user}` : ''}`;
}

/** The error or the result of a call. */
async function outcomeOf(call: Promise<unknown>): Promise<{ readonly error?: unknown; readonly result?: unknown }> {
  try {
    return { result: await call };
  } catch (error) {
    return { error };
  }
}

function checkRefusal(row: Row, error: unknown, world: World): void {
  const { status, ledgerCode, code } = expectedOf(row.outcome as OutcomeName);
  const streams = row.operation.startsWith('WS ');
  if (row.outcome === 'removed') {
    // The client requests the version once, and sends no other request.
    expect(world.recorder.answers.filter(({ path }) => path !== '/v2/version')).toEqual([]);
    expect(error).toMatchObject({ code, facts: { removedIn: '3.7' } });
    return;
  }
  const last = world.recorder.answers.at(-1);
  const frame = world.recorder.frames.at(-1);
  const onSocket = streams && row.outcome !== '404 unknown path';
  if (!onSocket) expect(last?.status).toBe(status);
  if (ledgerCode !== undefined) {
    expect(JSON.parse((onSocket ? frame?.text : last?.body) ?? '')).toMatchObject({ code: ledgerCode });
  }
  if (code === undefined) {
    expect(error).toBeUndefined();
    return;
  }
  expect(error).toBeInstanceOf(IndexerError);
  const httpStatus = onSocket ? {} : { httpStatus: status };
  const facts = { ...httpStatus, ...(ledgerCode === undefined ? {} : { ledgerCode }) };
  expect(error).toMatchObject({ code, facts });
}

function checkWire(world: World, isRemoved: boolean): void {
  const { answers: recordedAnswers, frames } = world.recorder;
  const problems = [
    ...recordedAnswers.flatMap((recorded) => check.answerProblems(recorded, world.release)),
    ...frames.flatMap((frame) => check.frameProblems(frame, world.release)),
  ];
  expect(problems).toEqual([]);
  if (!isRemoved) expect(recordedAnswers.length + frames.length).toBeGreaterThan(0);
}

async function runRow(row: Row, world: World, context: TestContext): Promise<void> {
  if (world.sandbox === undefined && !row.readOnly) skip(context, 'changes the ledger, or needs the sandbox');
  if (!row.releases.includes(world.release)) skip(context, `a row of ${row.releases.join(', ')}`);
  const { recorder, sandbox } = world;
  recorder.clear();
  if (sandbox !== undefined) Object.assign(sandbox.faults, row.fault);
  const { error, result } = await outcomeOf(Promise.resolve().then(() => row.call(world.session(row.as), world)));
  for (const name of Object.keys(row.fault ?? {})) delete sandbox?.faults[name as keyof Faults];
  if (error instanceof MissingOperation) skip(context, `needs ${error.message}`);
  if (sandbox === undefined && error instanceof IndexerError && error.code === 'LEDGER_PERMISSION_DENIED') {
    skip(context, 'the user of LEDGER_TOKEN may not do this');
  }
  const success = row.outcome.startsWith('success');
  if (!success) checkRefusal(row, error, world);
  else if (error !== undefined) throw error;
  row.check(result, world);
  checkWire(world, row.outcome === 'removed');
  coveredOperations.add(`${row.operation} ${row.outcome}`);
}

/** Runs the rows one after the other. The rows of one world share its recorder. */
function suite(chosenRows: readonly Row[], start: () => Promise<World>): void {
  let world: World | undefined;
  beforeAll(async () => {
    world = await start();
    console.log(`conformance of ${world.target}`);
  });
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  });
  for (const row of chosenRows) {
    it(nameOf(row), async (context) => {
      if (world !== undefined) await runRow(row, world, context);
    });
  }
}

const testedReleases: readonly Release[] = url === undefined ? releases : [];

describe.each(testedReleases)('sandbox of release %s', (release) => {
  suite(
    rows.filter(({ releases }) => releases.includes(release)),
    () => startWorld(release),
  );
});

if (url !== undefined) {
  describe('participant at LEDGER_URL', () => {
    suite(rows, () => joinWorld(url, process.env['LEDGER_TOKEN']));
  });
}

describe('conformance table', () => {
  afterAll(() => {
    const endpoints = new Set([...coveredOperations].filter((name) => name.endsWith(' success')));
    const refusals = [...coveredOperations].filter((name) => !name.includes(' success'));
    const count = url === undefined ? testedReleases.length : 1;
    for (const [reason, count] of skippedCounts) console.log(`skipped ${count} rows: ${reason}`);
    console.log(`conformance: ${endpoints.size} endpoints, ${refusals.length} error rows, ${count} releases`);
  });

  it('has a passed success row for each endpoint of the interface', needs(needsSandbox), () => {
    expect(requiredKeys.filter((operation) => !coveredOperations.has(`${operation} success`))).toEqual([]);
  });

  it('has a case for each operation of the client', () => {
    const tabled = new Set(cases.map(({ operation }) => operation));
    const calls = [...node, ...packages, ...submission, ...state, ...updates, ...parties, ...users, ...interactive];
    const missingOperations = calls.map(({ operation }) => operation).filter((operation) => !tabled.has(operation));
    expect(missingOperations).toEqual([]);
  });

  it('has unique row names', () => {
    const names = rows.map((row) => `${nameOf(row)} ${row.releases.join()}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});
