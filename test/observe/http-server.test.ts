import { afterEach, describe, expect, it } from 'vitest';

import { IndexerError } from '../../src/errors/indexer-error.ts';
import { CheckpointWaiters } from '../../src/observe/health/checkpoint-waiters.ts';
import { HealthTracker } from '../../src/observe/health/health-tracker.ts';
import { startHttpServer } from '../../src/observe/http/http-server.ts';
import type { RunningHttpServer } from '../../src/observe/http/http-server.ts';
import { createMetrics } from '../../src/observe/metrics/metrics.ts';

const runningServers: RunningHttpServer[] = [];
afterEach(async () => {
  await Promise.all(runningServers.splice(0).map((server) => server.close()));
});

async function start(port = 0): Promise<{ server: RunningHttpServer; health: HealthTracker }> {
  const health = new HealthTracker({ version: '1.2.3', schema: 'ledger', stalledAfterMs: 1000 });
  const server = await startHttpServer({
    host: '127.0.0.1',
    port,
    metrics: createMetrics({ version: '1.2.3' }),
    status: () => health.status(),
    verdict: () => health.verdict(),
    waiters: new CheckpointWaiters(),
  });
  runningServers.push(server);
  return { server, health };
}

describe('HTTP server', () => {
  it('is live at once, and ready only in phase live', async () => {
    const { server, health } = await start();
    expect((await fetch(`${server.url}/livez`)).status).toBe(200);
    const responseBefore = await fetch(`${server.url}/readyz`);
    expect([responseBefore.status, await responseBefore.json()]).toEqual([
      503,
      { state: 'starting', ready: false, live: true, reason: 'not connected yet' },
    ]);
    health.phaseChanged('live', undefined);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('serves /metrics and /status', async () => {
    const { server, health } = await start();
    health.source.participantId = 'participant::1220';
    const metrics = await fetch(`${server.url}/metrics`);
    expect(metrics.headers.get('content-type')).toContain('text/plain');
    expect(await metrics.text()).toContain('indexer_phase{phase="starting"} 1');
    expect(await (await fetch(`${server.url}/status?x=1`)).json()).toMatchObject({
      state: 'starting',
      checkpoint: null,
      participantId: 'participant::1220',
      schema: 'ledger',
      version: '1.2.3',
    });
  });

  it('returns no token or password from an error message of the participant', async () => {
    const { server, health } = await start();
    const secrets = [`lir_${'a'.repeat(43)}`, 'hunter2', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.x', 'in-the-query'];
    const [token, password, jwt, query] = secrets.map(String);
    const message = `refused by https://bob:${String(password)}@host/x?token=${String(query)} for ${String(token)}, Bearer ${String(jwt)}`;
    health.phaseChanged('backing_off', new IndexerError(message, { code: 'LEDGER_UNAVAILABLE' }));
    for (const path of ['/status', '/readyz', '/livez', `/wait?${String(token)}=1`]) {
      const body = await (await fetch(`${server.url}${path}`)).text();
      expect(JSON.parse(body)).toBeTypeOf('object');
      for (const secret of secrets) expect(body, path).not.toContain(secret);
    }
    expect(await (await fetch(`${server.url}/readyz`)).text()).toContain('refused by https://bob:***@host');
  });

  it('returns 404 for other paths and 405 for other methods', async () => {
    const { server } = await start();
    expect((await fetch(`${server.url}/etc`)).status).toBe(404);
    const posted = await fetch(`${server.url}/metrics`, { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('reports a remedy if the port is in use, and releases the port when it is closed', async () => {
    const { server } = await start();
    const port = Number(new URL(server.url).port);
    await expect(start(port)).rejects.toMatchObject({ code: 'HTTP_PORT_TAKEN', exitCode: 78, retry: 'fatal' });
    await server.close();
    await expect(start(port)).resolves.toBeDefined();
  });
});
