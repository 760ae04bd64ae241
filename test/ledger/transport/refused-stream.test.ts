/** The error of a rejected stream contains further information in addition to its code. */
import type { WebSocket } from 'ws';
import { afterEach, describe, expect, it } from 'vitest';
import { startFakeLedger, type FakeLedger, type FakeLedgerBehaviour } from '../fake-ledger.ts';
import { openRun } from './stream-run.ts';

let ledger: FakeLedger | undefined;
afterEach(async () => {
  await ledger?.stop();
  ledger = undefined;
});

async function serve(behavior: FakeLedgerBehaviour): Promise<string> {
  ledger = await startFakeLedger(behavior);
  return ledger.url;
}

describe('rejected stream', () => {
  it('reports that a gateway dropped the header Sec-WebSocket-Protocol', async () => {
    const url = await serve({ options: { handleProtocols: () => false } });
    const error = await openRun(url).ended;
    expect(error).toMatchObject({ code: 'LEDGER_NOT_A_LEDGER', retry: 'park' });
    expect(error?.remedy).toContain('Sec-WebSocket-Protocol');
    expect(error?.remedy).not.toContain('URL');
  });

  it('reports the Retry-After header of the handshake', async () => {
    const laterRefusal = { status: '503 Service Unavailable', type: 'text/plain\r\nretry-after: 40', body: 'later' };
    expect((await openRun(await serve({ refuse: laterRefusal })).ended)?.facts).toMatchObject({
      retryAfterSeconds: 40,
    });
  });

  it('reports the flaw of a token that is rejected by a handshake, a frame or a close', async () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: 'a-name', aud: 'an-audience', iat: now, exp: now + 3_600 };
    const token = `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
    const frame = '{"code":"NA","cause":"x","errorCategory":-1,"grpcCodeValue":16}';
    for (const behavior of [
      { refuse: { status: '401 Unauthorized', type: 'text/plain', body: 'no' } },
      { socket: (socket: WebSocket) => socket.send(frame) },
      { socket: (socket: WebSocket) => socket.close(1008, 'no') },
    ]) {
      await ledger?.stop();
      const error = await openRun(await serve(behavior), { token }).ended;
      expect(error).toMatchObject({ code: 'LEDGER_UNAUTHENTICATED', retry: 'refresh-token' });
      expect(error?.message).toContain('the token itself lives for 60 minutes');
      expect(error?.message).not.toMatch(/a-name|an-audience|h\./u);
    }
  });
});
