/** The JSON of `/status`, key by key and in order, because programs read it. */
import { afterEach, expect, it } from 'vitest';

import { IndexerError } from '../../../src/errors/indexer-error.ts';
import { HealthTracker } from '../../../src/observe/health/health-tracker.ts';
import { createObservers, type IndexerObservers } from '../../../src/observe/indexer-observer.ts';
import { createLogger } from '../../../src/observe/log/logger.ts';
import { createMetrics } from '../../../src/observe/metrics/metrics.ts';

let observers: IndexerObservers | undefined;
afterEach(() => observers?.close());

function world() {
  let nowMs = 1_000;
  const wallNow = (): number => Date.UTC(2026, 0, 2) + nowMs;
  const health = new HealthTracker({
    version: '1.2.3',
    database: 'db:5432/ledger',
    schema: 'ledger',
    stalledAfterMs: 30_000,
    work: { shares: () => ({ source: 0.25, decode: 0.25, database: 0.5 }) },
    now: () => nowMs,
    wallNow,
  });
  const { logger } = createLogger({ level: 'silent', format: 'json', stream: { write: () => undefined } });
  observers = createObservers({ logger, metrics: createMetrics({ version: '1.2.3' }), health });
  const advanceClock = (ms: number): void => {
    nowMs += ms;
  };
  return { observers, health, pass: advanceClock, wallNow };
}

it('the status document of a new indexer matches its snapshot', () => {
  const { health } = world();
  expect(JSON.stringify(health.status(), null, 1)).toMatchInlineSnapshot(`
    "{
     "state": "starting",
     "reason": "not connected yet",
     "remedy": null,
     "checkpoint": null,
     "ledgerEnd": null,
     "ledgerEndAgeSeconds": null,
     "offsetsBehind": null,
     "lagSeconds": null,
     "updatesPerSecond": 0,
     "eventsPerSecond": 0,
     "seed": null,
     "seedContractsPerSecond": 0,
     "catchUp": null,
     "commitMilliseconds": null,
     "ingestLatencySeconds": null,
     "timeShares": {
      "source": 0.25,
      "decode": 0.25,
      "database": 0.5
     },
     "delay": {
      "cause": "none",
      "message": "Not connected yet."
     },
     "contractsUnhosted": null,
     "completions": {
      "state": "waiting",
      "reason": "the stream has not begun",
      "checkpoint": null
     },
     "interfacesWaiting": [],
     "interfacesBackfilling": [],
     "outdatedOptions": [],
     "partiesUnknown": [],
     "retention": null,
     "projections": [],
     "jobs": [],
     "unknown": [],
     "errors": [],
     "counts": {
      "updates": {},
      "events": {}
     },
     "lastError": null,
     "participantId": null,
     "lockHolder": null,
     "database": "db:5432/ledger",
     "schema": "ledger",
     "version": "1.2.3",
     "startedAt": "2026-01-02T00:00:01.000Z"
    }"
  `);
});

it('the status document of an indexer with running jobs matches its snapshot', () => {
  const { observers, health, pass: advanceClock, wallNow } = world();
  const failure = new IndexerError('cannot reach node: refused', { code: 'LEDGER_UNREACHABLE' });
  observers.stream.storedFound(40);
  observers.stream.sessionOpened('participant::1220aa', 40);
  observers.polls.lockHeld({ pid: 7, role: 'writer', application: 'ledger-indexer', address: null, since: null }, true);
  observers.stream.phaseChanged('seeding');
  observers.seed.progress({ contracts: 30, offset: 39 });
  observers.seed.done({ contracts: 60, offset: 39 });
  observers.stream.phaseChanged('catching_up');
  observers.checkpointReached(40);
  observers.polls.ledgerEnd(100);
  observers.polls.pruned(10);
  observers.stream.failed('ledger', failure, 500);
  advanceClock(2_000);
  observers.stream.frameReceived(900);
  observers.stream.batchCommitted({
    checkpoint: 60,
    updates: new Map([['transaction', 20]]),
    events: new Map([['created', new Map([['p:M:T', 30]])]]),
    rows: new Map([['events', 30]]),
    unknown: [],
    fallbackDecodedTransactions: 0,
    recordTimeMs: wallNow() - 5_000,
    bytes: 900,
    commitSeconds: 0.02,
    decodeSeconds: 0.01,
  });
  observers.checkpointReached(60);
  observers.polls.idleProbed('undelivered');
  observers.polls.contractsUnhosted(2);
  observers.interfaces.interfacesRequested([{ id: 'p:M:I', state: 'waiting', completeFrom: null, unknownAt: null }]);
  observers.filterExtension.changed({ kind: 'options', behind: ['LEDGER_PARTIES'] });
  observers.completions.followed(55);
  observers.retention.pruned({
    boundary: 12,
    rows: 5,
    finished: false,
    heldBy: { name: 'lake', offset: 12, since: new Date(0) },
  });
  observers.jobs.seen([
    {
      name: 'filter-extend',
      request: {},
      state: 'working',
      step: 'gathering',
      unit: 'contracts',
      done: 5,
      total: 20,
      perSecond: 5,
      problem: null,
      requestedAt: new Date(0),
      updatedAt: new Date(1_000),
    },
  ]);
  advanceClock(1_000);
  expect(JSON.stringify(health.status(), null, 1)).toMatchInlineSnapshot(`
    "{
     "state": "catching_up",
     "reason": "40 offsets behind the ledger end",
     "remedy": null,
     "checkpoint": 60,
     "ledgerEnd": 100,
     "ledgerEndAgeSeconds": 3,
     "offsetsBehind": 40,
     "lagSeconds": 6,
     "updatesPerSecond": 20,
     "eventsPerSecond": 30,
     "seed": {
      "contracts": 60,
      "offset": 39,
      "done": true
     },
     "seedContractsPerSecond": 0,
     "catchUp": {
      "from": 60,
      "percent": 0,
      "offsetsPerSecond": null,
      "etaSeconds": null
     },
     "commitMilliseconds": 20,
     "ingestLatencySeconds": 5,
     "timeShares": {
      "source": 0.25,
      "decode": 0.25,
      "database": 0.5
     },
     "delay": {
      "cause": "database",
      "message": "Behind by 40 offsets: the database is the bottleneck. 50 % of the last 10 s were spent waiting for commits."
     },
     "contractsUnhosted": 2,
     "completions": {
      "state": "following",
      "reason": "read in the background",
      "checkpoint": 55
     },
     "interfacesWaiting": [
      "p:M:I"
     ],
     "interfacesBackfilling": [],
     "outdatedOptions": [
      "LEDGER_PARTIES"
     ],
     "partiesUnknown": [],
     "retention": {
      "running": true,
      "boundary": 12,
      "rowsRemoved": 5,
      "rowsPerSecond": 0,
      "heldBy": {
       "name": "lake",
       "offset": 12,
       "since": "1970-01-01T00:00:00.000Z"
      },
      "finishedAt": null,
      "problem": null
     },
     "projections": [],
     "jobs": [
      {
       "name": "filter-extend",
       "state": "working",
       "step": "gathering",
       "unit": "contracts",
       "done": 5,
       "total": 20,
       "percent": 25,
       "perSecond": 5,
       "etaSeconds": 3,
       "problem": null,
       "requestedAt": "1970-01-01T00:00:00.000Z",
       "updatedAt": "1970-01-01T00:00:01.000Z"
      }
     ],
     "unknown": [],
     "errors": [
      {
       "code": "LEDGER_UNREACHABLE",
       "message": "cannot reach node: refused",
       "remedy": "check that the participant runs and that ledger URL, DNS and firewall lead to its JSON API port",
       "count": 1,
       "at": "2026-01-02T00:00:01.000Z"
      }
     ],
     "counts": {
      "updates": {
       "transaction": 20
      },
      "events": {
       "created": 30
      }
     },
     "lastError": {
      "code": "LEDGER_UNREACHABLE",
      "message": "cannot reach node: refused",
      "at": "2026-01-02T00:00:01.000Z"
     },
     "participantId": "participant::1220aa",
     "lockHolder": {
      "pid": 7,
      "role": "writer",
      "application": "ledger-indexer",
      "address": null,
      "since": null
     },
     "database": "db:5432/ledger",
     "schema": "ledger",
     "version": "1.2.3",
     "startedAt": "2026-01-02T00:00:01.000Z"
    }"
  `);
});
