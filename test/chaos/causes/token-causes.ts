/** Causes that affect access tokens, in their file or in their provider. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { audience, clientId, clientSecret, startOidc, type Oidc } from '../../support/oidc.ts';
import type { AlertCause } from './cause.ts';
import type { CauseWorld, WorldOptions } from './world.ts';

/** The identity provider of each world. */
const providers = new WeakMap<CauseWorld, Oidc>();
const fileOf = ({ folder }: CauseWorld): string => join(folder, 'token');

const fromProvider: WorldOptions = {
  sandbox: async (world) => {
    const oidc = await startOidc({ tokenSeconds: 5 });
    providers.set(world, oidc);
    world.closing.push(() => oidc.stop());
    return {
      auth: { jwksUrl: oidc.jwksUrl, audience, users: [{ id: clientId, rights: [{ kind: 'CanReadAsAnyParty' }] }] },
    };
  },
  env: (world) => ({
    LEDGER_OAUTH_ISSUER: providers.get(world)?.issuer ?? '',
    LEDGER_OAUTH_CLIENT_ID: clientId,
    LEDGER_OAUTH_CLIENT_SECRET: clientSecret,
    LEDGER_OAUTH_AUDIENCE: audience,
  }),
};

const fromFile: WorldOptions = {
  sandbox: () => ({ token: jwt('first') }),
  env: (world) => {
    writeFileSync(fileOf(world), jwt('first'));
    return { LEDGER_TOKEN_FILE: fileOf(world) };
  },
};

/** A token that does not expire. The sandbox only compares it. */
function jwt(subject: string): string {
  const encodePart = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${encodePart({ alg: 'none' })}.${encodePart({ sub: subject, aud: audience })}.c2lnbmF0dXJl`;
}

const respondWith =
  (status: number, type: string, body: string) =>
  (world: CauseWorld): void => {
    const oidc = providers.get(world);
    if (oidc === undefined) throw new Error('this world has no token provider');
    oidc.answerWith = (_request, response) => response.writeHead(status, { 'content-type': type }).end(body);
  };

function provides(world: CauseWorld): void {
  const oidc = providers.get(world);
  if (oidc !== undefined) oidc.answerWith = undefined;
}

export const tokenCauses: readonly AlertCause[] = [
  {
    group: 'Token',
    what: 'the provider is down',
    soon: { code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE', state: 'backing_off' },
    alerts: ['IndexerNoWriter'],
    also: ['LEDGER_TOKEN_EXPIRED'],
    world: fromProvider,
    provoke: (world) => providers.get(world)?.stop(),
  },
  {
    group: 'Token',
    what: 'the provider returns a web page',
    soon: { code: 'LEDGER_TOKEN_PROVIDER_UNAVAILABLE', state: 'backing_off' },
    alerts: ['IndexerNoWriter'],
    also: ['LEDGER_TOKEN_EXPIRED'],
    world: fromProvider,
    provoke: respondWith(200, 'text/html', '<html>Sign in</html>'),
    end: provides,
  },
  {
    group: 'Token',
    what: 'the provider no longer knows the client',
    soon: { code: 'LEDGER_TOKEN_REFUSED', state: 'parked' },
    alerts: ['IndexerParked'],
    also: ['LEDGER_TOKEN_EXPIRED'],
    world: fromProvider,
    provoke: respondWith(401, 'application/json', '{"error":"invalid_client"}'),
    end: provides,
  },
  {
    group: 'Token',
    what: 'the token in the file is refused',
    soon: { code: 'LEDGER_UNAUTHENTICATED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: ['IndexerParked'],
    world: fromFile,
    provoke: (world) => {
      writeFileSync(fileOf(world), jwt('second'));
      world.gateway.cut();
    },
    end: (world) => writeFileSync(fileOf(world), jwt('first')),
  },
  {
    group: 'Token',
    what: 'the file holds no token: the last one stays in use',
    soon: { state: 'live' },
    also: ['LEDGER_STREAM_CLOSED'],
    alerts: [],
    world: fromFile,
    provoke: (world) => {
      writeFileSync(fileOf(world), 'Bearer "eyJ"');
      world.gateway.cut();
    },
    end: (world) => writeFileSync(fileOf(world), jwt('first')),
  },
  {
    group: 'Token',
    what: 'the token file is gone, and the ledger refuses the last token',
    soon: { code: 'LEDGER_UNAUTHENTICATED', state: 'parked' },
    also: ['LEDGER_STREAM_CLOSED', 'LEDGER_TOKEN_UNREADABLE'],
    alerts: ['IndexerParked'],
    world: fromFile,
    provoke: (world) => {
      rmSync(fileOf(world));
      world.gateway.answer = {
        status: 401,
        type: 'application/json',
        body: '{"code":"UNAUTHENTICATED","grpcCodeValue":16}',
      };
      world.gateway.cut();
    },
    end: (world) => {
      writeFileSync(fileOf(world), jwt('first'));
      world.gateway.answer = undefined;
    },
  },
];
