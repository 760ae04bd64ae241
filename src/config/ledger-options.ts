/** Options of the ledger connection, the filter and access tokens. */
import {
  boolean,
  choice,
  identifier,
  identifierOr,
  ledger,
  ledgerUrl,
  listType,
  patternType,
  optional,
  providerUrl,
  size,
  smallFile,
  text,
  withDefault,
} from './option.ts';
import { presetNames } from './interface-presets.ts';
import { partyId } from './party-id.ts';

const party = patternType(
  'party',
  partyId,
  'complete party ids, hint and fingerprint, such as alice::1220ab…, separated by commas',
);
/** The connection to the participant and the filter. */
export const ledgerOptions = {
  url: optional(
    ledger(
      'LEDGER_URL',
      'Base URL of the JSON Ledger API, with its path if it has one. Required if `DATABASE_URL` is set.',
      {
        unset: 'embedded sandbox',
      },
    ),
    ledgerUrl,
  ),
  token: optional(
    ledger('LEDGER_TOKEN', 'Access token for the life of the process. Not accepted as a flag.', { secret: 'value' }),
    patternType('text', /^(?![./~])[\x21-\x7e]+$/, 'a token without blanks or line breaks'),
  ),
  tokenFile: optional(
    ledger(
      'LEDGER_TOKEN_FILE',
      'File with the access token, read again for every connection. Takes precedence over `LEDGER_TOKEN`.',
    ),
    smallFile,
  ),
  tokenPlacement: withDefault(
    ledger(
      'LEDGER_TOKEN_PLACEMENT',
      'Where the WebSocket handshake carries the token. Change it if a proxy drops one of the two.',
    ),
    choice(['header', 'subprotocol', 'both']),
    'both',
  ),
  parties: withDefault(
    ledger('LEDGER_PARTIES', 'Parties to index, separated by commas.', {
      unset: 'all parties that the token may read',
    }),
    listType(party),
    '',
  ),
  templates: withDefault(
    ledger('LEDGER_TEMPLATES', 'Templates to index, as `#package-name:Module:Entity`, separated by commas.', {
      unset: 'all templates',
    }),
    listType(identifier),
    '',
  ),
  wantedInterfaces: withDefault(
    ledger(
      'LEDGER_INTERFACES',
      'Interfaces whose views are stored, as `#package-name:Module:Entity`, separated by commas. `tokens` selects the interfaces of the token standard.',
      { unset: 'none' },
    ),
    listType(identifierOr(presetNames)),
    '',
  ),
  createdEventBlobs: withDefault(
    ledger('LEDGER_CREATED_EVENT_BLOBS', 'Store the created-event blobs that explicit disclosure needs.'),
    boolean,
    'false',
  ),
  shape: withDefault(
    ledger(
      'LEDGER_SHAPE',
      'Events to request: everything the parties witnessed, or only creates and archives of their own contracts.',
    ),
    choice(['LEDGER_EFFECTS', 'ACS_DELTA']),
    'LEDGER_EFFECTS',
  ),
  maxFrameBytes: optional(
    ledger(
      'LEDGER_MAX_FRAME_BYTES',
      'Size limit of one frame (one update) and of one package. The complete frame is held in memory.',
      {
        unset: 'computed from the available memory, at most 256MiB',
      },
    ),
    size('1MiB', '512MiB'),
  ),
  topology: withDefault(
    ledger(
      'LEDGER_TOPOLOGY',
      'Store changes of party hosting. Without them, contracts of parties that leave the participant stay active in the index.',
    ),
    boolean,
    'true',
  ),
  caFile: optional(ledger('LEDGER_CA_FILE', 'PEM file with the certificate authority of the participant.'), smallFile),
  certFile: optional(
    ledger('LEDGER_CERT_FILE', 'PEM file with the client certificate, for a participant that requires one.'),
    smallFile,
  ),
  keyFile: optional(
    ledger('LEDGER_KEY_FILE', 'PEM file with the private key of the client certificate, unencrypted.'),
    smallFile,
  ),
  insecure: withDefault(
    ledger('LEDGER_INSECURE', 'Allow tokens and secrets over plain http to another machine. For tests only.'),
    boolean,
    'false',
  ),
} as const;

/** An OAuth 2.0 client that gets its tokens with client credentials. */
export const oauthOptions = {
  issuer: optional(
    ledger('LEDGER_OAUTH_ISSUER', 'OpenID Connect issuer that grants access tokens by client credentials.'),
    providerUrl,
  ),
  tokenUrl: optional(
    ledger('LEDGER_OAUTH_TOKEN_URL', 'Token endpoint of a provider without discovery, instead of the issuer.'),
    providerUrl,
  ),
  clientId: optional(
    ledger('LEDGER_OAUTH_CLIENT_ID', 'OAuth client id. Cannot be combined with `LEDGER_TOKEN` or `LEDGER_TOKEN_FILE`.'),
    patternType('text', /^[\x20-\x7e]+$/, 'a client id of printable characters'),
  ),
  clientSecret: optional(
    ledger('LEDGER_OAUTH_CLIENT_SECRET', 'OAuth client secret. Not accepted as a flag.', {
      secret: 'value',
      fileVariant: true,
    }),
    patternType('text', /^[\x20-\x7e]+$/, 'a client secret of printable characters'),
  ),
  clientKeyFile: optional(
    ledger(
      'LEDGER_OAUTH_CLIENT_KEY_FILE',
      'PEM or JWK file with the private key of the OAuth client, instead of the client secret.',
    ),
    smallFile,
  ),
  clientKeyId: optional(
    ledger(
      'LEDGER_OAUTH_CLIENT_KEY_ID',
      'Key id (`kid`) to send with the signature, if the provider needs one; a JWK names its own.',
    ),
    patternType('text', /^[\x20-\x7e]+$/, 'a key id of printable characters'),
  ),
  audience: optional(ledger('LEDGER_OAUTH_AUDIENCE', 'Audience to request, if the participant checks one.'), text),
  scope: withDefault(
    ledger('LEDGER_OAUTH_SCOPE', 'Scopes to request, separated by blanks, or `none`.'),
    patternType(
      'text',
      /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/,
      'scopes separated by single blanks',
    ),
    'daml_ledger_api',
  ),
  caFile: optional(
    ledger('LEDGER_OAUTH_CA_FILE', 'PEM file with the certificate authority of the token provider.'),
    smallFile,
  ),
} as const;
