/** Faults of the ledger: errors, closes and responses of a participant, or of a proxy in front of it. */
import type { ServerResponse } from 'node:http';
import type { ChaosWorld, FaultKind } from './fault-kind.ts';
import { ledgerErrors, type LedgerErrorFrame } from '../model/ledger-errors.ts';
import { refuse, type StreamMoment, type StreamName, type StreamOutcome } from '../model/model-ledger.ts';
import { pause } from '../../support/wait-for.ts';

type Act = (streamPhase: StreamMoment, world: ChaosWorld) => StreamOutcome | Promise<StreamOutcome>;

/** The fault happens in the current stream, before one of its next frames. */
function streamFault(
  name: string,
  phases: FaultKind['moments'],
  faultAction: Act,
  requirement?: 'restart',
): FaultKind[] {
  return phases.map((streamPhase) => {
    const streamName: StreamName = streamPhase === 'seed' ? 'acs' : 'updates';
    return {
      name: `ledger ${streamName}: ${name}`,
      moments: [streamPhase],
      ...(requirement === undefined ? {} : { needs: requirement }),
      arm: (world) =>
        world.ledger.arm({
          at: streamName,
          after: world.random.between(0, 5),
          act: (stream) => faultAction(stream, world),
        }),
    };
  });
}

const bothMoments = ['seed', 'follow'] as const;
const json = 'application/json';
/** Time without frames, several times longer than the interval after which the indexer probes the ledger. */
const probedWithinMs = 400;
/** Time until a sent frame is received, and until a range that was passed by mistake is committed. */
const arrivalLimitMs = 15;
const storeDelayMs = 60;

const reply =
  (status: number, type: string, text: string) =>
  (response: ServerResponse): Promise<'over'> => {
    response.writeHead(status, { 'content-type': type }).end(text);
    return Promise.resolve('over');
  };

function errorFrame(
  name: string,
  error: LedgerErrorFrame,
  phases: FaultKind['moments'] = bothMoments,
  requirement?: 'restart',
) {
  const faultAction: Act = ({ socket }) => {
    refuse(socket, error);
    return 'over';
  };
  return streamFault(`error frame ${name}`, phases, faultAction, requirement);
}

function closes(code: number): FaultKind[] {
  return streamFault(`closed with ${String(code)}`, bothMoments, ({ socket }) => {
    socket.close(code);
    return 'over';
  });
}

function sends(
  name: string,
  extraFrame: (streamPhase: StreamMoment, world: ChaosWorld) => string | Buffer | undefined,
): FaultKind[] {
  return streamFault(name, ['follow'], (streamPhase, world) => {
    const frame = extraFrame(streamPhase, world);
    if (frame !== undefined) streamPhase.socket.send(frame, { binary: typeof frame !== 'string' });
    return 'go';
  });
}

/**
 * The stream sends nothing although there are more updates. The pause is long enough for the indexer to probe the
 * ledger, then the stream is closed. An update below the checkpoint is not sent again.
 */
function owedFault(name: string, armFault: (streamPhase: StreamMoment) => Promise<void>): FaultKind[] {
  return streamFault(`silent, then closed, and ${name}`, ['follow'], async (streamPhase): Promise<StreamOutcome> => {
    await Promise.race([armFault(streamPhase), pause(probedWithinMs)]);
    await pause(storeDelayMs);
    streamPhase.socket.terminate();
    return 'over';
  });
}

const isUpdate = (frame: string): boolean => !frame.includes('"OffsetCheckpoint"');

const streamFaults: readonly FaultKind[] = [
  ...errorFrame('unavailable', ledgerErrors.unavailable),
  ...errorFrame('overloaded', ledgerErrors.overloaded),
  ...errorFrame('deadline', ledgerErrors.deadline),
  ...errorFrame('internal, redacted', ledgerErrors.internal),
  ...errorFrame('of a proxy', ledgerErrors.foreign),
  ...errorFrame('token expired', ledgerErrors.tokenExpired),
  ...errorFrame('stale authorization', ledgerErrors.staleAuthorization),
  ...errorFrame('unauthenticated', ledgerErrors.unauthenticated),
  ...errorFrame('continuation token invalid', ledgerErrors.badToken, ['seed']),
  ...errorFrame('pruned', ledgerErrors.pruned(1), ['seed']),
  ...errorFrame('pruned', ledgerErrors.pruned(1), ['follow'], 'restart'),
  ...errorFrame('permission denied', ledgerErrors.denied, ['follow'], 'restart'),
  ...[1000, 1001, 1008, 1011, 1012, 1013].flatMap(closes),
  ...streamFault('closed without a close frame (1006)', bothMoments, ({ socket }) => {
    socket.terminate();
    return 'over';
  }),
  ...streamFault('stall', bothMoments, async (_, { random }): Promise<StreamOutcome> => {
    await pause(random.between(50, 250));
    return 'go';
  }),
  ...streamFault('the ledger moves', ['seed'], ({ ledger }, { random }) => {
    ledger.grow(ledger.visible + random.between(1, 8));
    return 'go';
  }),
  ...streamFault('the ledger moves, then the stream ends', ['seed'], ({ ledger, socket }, { random }) => {
    ledger.grow(ledger.visible + random.between(1, 8));
    socket.terminate();
    return 'over';
  }),
  ...streamFault('the participant is upgraded', ['seed'], ({ ledger, socket }) => {
    ledger.version = '3.7.5';
    socket.terminate();
    return 'over';
  }),
  ...owedFault('a question closed early with 1000', ({ ledger }) =>
    ledger.arm({
      at: 'bounded',
      act: (stream) => {
        stream.close(1000);
        return 'over';
      },
    }),
  ),
  ...owedFault('a question without a list', ({ ledger }) =>
    ledger.arm({ at: 'request', path: '/v2/updates?', act: reply(200, json, '[]') }),
  ),
  ...owedFault('a response that is older than the newest frame', ({ ledger, socket, frame }) => {
    void ledger.arm({
      at: 'bounded',
      act: (stream) => {
        stream.close(1000);
        return 'over';
      },
    });
    return ledger.arm({
      at: 'request',
      path: '/v2/updates?',
      act: async (response) => {
        socket.send(frame);
        await pause(arrivalLimitMs);
        response.writeHead(200, { 'content-type': json }).end('[]');
        return 'over';
      },
    });
  }),
  ...sends('the last update again', ({ sent: sentFrames }) => sentFrames.findLast(isUpdate)),
  ...sends('an older update again', ({ sent: sentFrames }) => sentFrames.find(isUpdate)),
  ...sends('an older OffsetCheckpoint again', ({ sent: sentFrames }) => sentFrames.find((frame) => !isUpdate(frame))),
  ...sends('an update before the one before it', ({ ledger, index }) =>
    index + 1 < ledger.visible ? ledger.history.items[index + 1]?.frame : undefined,
  ),
  ...sends('not JSON', () => '<html>busy</html>'),
  ...sends('half a frame as a frame', ({ frame }) => frame.slice(5, Math.floor(frame.length / 2))),
  ...sends('a binary frame', ({ frame }) => Buffer.from(frame)),
];

/**
 * A frame whose beginning is valid and whose end is missing. Until a complete frame was read, nothing after it may be
 * stored.
 */
const brokenFrames: readonly FaultKind[] = streamFault(
  'a frame without its end',
  ['follow'],
  ({ socket, frame }) => {
    socket.send(frame.slice(0, Math.floor(frame.length * 0.7)));
    return 'go';
  },
  'restart',
);

const paths = [
  '/v2/state/ledger-end',
  '/v2/parties/participant-id',
  '/v2/state/latest-pruned-offsets',
  '/v2/updates/update-by-offset',
];

/**
 * Changes the response to one request of the next connection. It closes the streams, so that the indexer reconnects.
 */
function onRequest(
  name: string,
  override: (response: ServerResponse) => Promise<'go' | 'over'>,
  requirement?: 'restart',
  path?: string,
): FaultKind {
  return {
    name: `ledger request: ${name}`,
    moments: path === undefined ? bothMoments : ['follow'],
    ...(requirement === undefined ? {} : { needs: requirement }),
    arm: ({ ledger, random }) => {
      // The other path is not used, because it requests a stored update, which may not exist yet.
      const requestPath = path ?? random.pick(paths.slice(0, 3));
      const whenHappened = ledger.arm({ at: 'request', path: requestPath, act: override });
      ledger.closeStreams(1001);
      return whenHappened;
    },
  };
}

const requestFaults: readonly FaultKind[] = [
  onRequest('503 as text', reply(503, 'text/plain', 'The server was not able to produce a timely response')),
  onRequest('503 as an error', reply(503, json, JSON.stringify(ledgerErrors.unavailable))),
  onRequest('429', reply(429, json, JSON.stringify({ ...ledgerErrors.overloaded, grpcCodeValue: 8 }))),
  onRequest('500', reply(500, json, JSON.stringify(ledgerErrors.internal))),
  onRequest('502 as a web page', reply(502, 'text/html', '<html>Bad Gateway</html>')),
  onRequest('401', reply(401, json, JSON.stringify(ledgerErrors.unauthenticated))),
  onRequest('closed without a response', (response) => {
    response.socket?.destroy();
    return Promise.resolve('over');
  }),
  onRequest('closed within a response', (response) => {
    response
      .writeHead(200, { 'content-type': json, 'content-length': '40' })
      .write('{"off', () => response.socket?.destroy());
    return Promise.resolve('over');
  }),
  onRequest('late answer', async () => {
    await pause(80);
    return 'go';
  }),
  onRequest('an older ledger end', reply(200, json, '{"offset":1}'), 'restart', '/v2/state/ledger-end'),
  onRequest(
    'the stored update is not found',
    reply(404, json, JSON.stringify(ledgerErrors.updateNotFound)),
    'restart',
    '/v2/updates/update-by-offset',
  ),
];

/**
 * Changes the response to the request that checks whether a list is complete, after the stream of the list has ended.
 */
function proofFault(name: string, override: (response: ServerResponse) => Promise<'go' | 'over'>): FaultKind {
  return {
    name: `ledger proof of a list: ${name}`,
    moments: ['seed'],
    arm: ({ ledger }) => ledger.arm({ at: 'request', path: '/v2/state/active-contracts', act: override }),
  };
}

const proofFaults: readonly FaultKind[] = [
  proofFault('503', reply(503, json, JSON.stringify(ledgerErrors.unavailable))),
  proofFault('no such call', reply(404, json, '{"errors":["no such resource"],"status":404}')),
  proofFault('token invalid', reply(400, json, JSON.stringify(ledgerErrors.badToken))),
  proofFault('cut', (response) => {
    response.socket?.destroy();
    return Promise.resolve('over');
  }),
];

function onUpgrade(name: string, head: string | undefined): FaultKind {
  return {
    name: `ledger handshake: ${name}`,
    moments: bothMoments,
    arm: ({ ledger }) => {
      const whenHappened = ledger.arm({
        at: 'upgrade',
        act: (socket) => {
          if (head === undefined) socket.destroy();
          else socket.end(`HTTP/1.1 ${head}\r\nConnection: close\r\nContent-Length: 4\r\n\r\nbusy`);
        },
      });
      ledger.closeStreams(1001);
      return whenHappened;
    },
  };
}

export const ledgerFaults: readonly FaultKind[] = [
  ...streamFaults,
  ...brokenFrames,
  ...requestFaults,
  ...proofFaults,
  onUpgrade('cut', undefined),
  onUpgrade('503', '503 Service Unavailable'),
  onUpgrade('429', '429 Too Many Requests'),
  onUpgrade('401', '401 Unauthorized'),
];
