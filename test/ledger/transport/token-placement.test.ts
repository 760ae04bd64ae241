import { afterEach, describe, expect, it } from 'vitest';
import { startFakeLedger, type FakeLedger } from '../fake-ledger.ts';
import { openRun } from './stream-run.ts';

let ledger: FakeLedger | undefined;
afterEach(() => ledger?.stop());

describe('stream handshake', () => {
  it.each([
    ['header', 'Bearer a.b.c', 'daml.ws.auth,ledger.ws.auth'],
    ['subprotocol', undefined, 'jwt.token.a.b.c,daml.ws.auth,ledger.ws.auth'],
  ] as const)(
    'sends the token only in the %s if that placement is configured',
    async (tokenPlacement, header, offered) => {
      ledger = await startFakeLedger({ socket: (socket) => socket.close(1000) });
      expect(await openRun(ledger.url, { token: 'a.b.c', tokenPlacement }).ended).toBeUndefined();
      expect(ledger.handshakes[0]?.headers.authorization).toBe(header);
      expect(ledger.handshakes[0]?.headers['sec-websocket-protocol']).toBe(offered);
    },
  );
});
