/** Whether a WebSocket gets through whatever stands between here and the participant, and the filter is accepted. */
import { openFrameStream } from '../../ledger/transport/frame-stream.ts';
import { updatesRequest } from '../../ledger/api/request-format.ts';
import { assertTokenMayTravel } from '../../ledger/access/token.ts';
import type { LedgerView } from './ledger-view.ts';
import { pass, type Check, type Finding } from './outcome.ts';

/** A refusal of the filter or of the user follows the handshake as a frame; silence for so long means accepted. */
const quietMs = 700;

/** Opens the update stream at the ledger end with the configured filter, and closes it again. */
export function websocketCheck(view: LedgerView): Check {
  return { name: 'websocket', after: ['ledger', 'ledger end'], run: () => listen(view) };
}

async function listen({ config, url, access, end, signal }: LedgerView): Promise<Finding> {
  const { ledger, indexer } = config;
  const token = await access.tokenSource.read();
  assertTokenMayTravel(url, token, ledger.insecure);
  const request = updatesRequest(await end(), ledger);
  return new Promise((resolve, reject) => {
    let opened = false;
    const accepted = (): void => {
      resolve(pass('/v2/updates opened at the ledger end with the configured filter'));
      stream.close();
    };
    const stream = openFrameStream({
      url,
      path: '/v2/updates',
      request,
      token,
      tls: access.tls,
      tokenPlacement: ledger.tokenPlacement,
      pingIntervalMs: indexer.pingIntervalMs,
      maxPayloadBytes: ledger.maxFrameBytes,
      signal,
      onOpen: () => {
        opened = true;
        setTimeout(accepted, quietMs);
      },
      onFrame: accepted,
      onEnd: (error) => {
        if (error !== undefined) reject(error);
        else if (opened)
          resolve({ state: 'fail', found: 'the stream was closed at once, without a reason', fix: proxies });
      },
    });
  });
}

const proxies =
  'look at proxies between here and the participant: they have to pass "Upgrade: websocket" and must not buffer';
